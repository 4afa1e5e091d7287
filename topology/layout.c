/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * layout.c - topology.conf read as slurmctld reads it; see layout.h.
 *
 * A line is Key=Value pairs, keys in any case, blanks around '=' allowed, values bare or in double
 * quotes; '#' begins a comment, a backslash at the end joins the next line. slurmctld refuses what
 * it does not know, and so do we; only what `scontrol show topology` prints may have more keys.
 */
#include "layout.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "io.h"
#include "text.h"

static const char *const kind_names[] = { "", "tree", "block", "flat", "ring", "torus3d" };

const char *layout_kind_name(enum layout_kind kind)
{
	return kind_names[kind];
}

void layout_clear(struct layout *l)
{
	for (size_t i = 0; i < l->count; i++) {
		struct layout_topology *t = &l->topologies[i];
		for (size_t j = 0; j < t->count; j++) {
			free(t->items[j].name);
			free(t->items[j].nodes);
			free(t->items[j].children);
		}
		free(t->items);
		free(t->name);
	}
	free(l->topologies);
	memset(l, 0, sizeof(*l));
}

/* Room for one more, zeroed; NULL without memory. */
static void *add(void **array, size_t *count, size_t *room, size_t size)
{
	if (*count == *room) {
		size_t more = *room ? *room * 2 : 8;
		void *bigger = reallocarray(*array, more, size);
		if (!bigger)
			return NULL;
		*array = bigger;
		*room = more;
	}
	return memset((char *)*array + (*count)++ * size, 0, size);
}

struct layout_topology *layout_add(struct layout *l)
{
	return add((void **)&l->topologies, &l->count, &l->room, sizeof(*l->topologies));
}

struct layout_item *layout_add_item(struct layout_topology *t, size_t line)
{
	struct layout_item *item = add((void **)&t->items, &t->count, &t->room, sizeof(*t->items));

	if (item)
		item->line = line;
	return item;
}

static int by_name(const void *a, const void *b)
{
	const struct layout_name *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : (x->item > y->item) - (x->item < y->item);
}

void layout_sort(struct layout_name *names, size_t count)
{
	if (count)
		qsort(names, count, sizeof(*names), by_name);
}

struct layout_name *layout_names(const struct layout_topology *t)
{
	struct layout_name *names = calloc(t->count + 1, sizeof(*names));

	for (size_t i = 0; names && i < t->count; i++)
		names[i] = (struct layout_name){ t->items[i].name, i };
	if (names)
		layout_sort(names, t->count);
	return names;
}

size_t layout_find(const struct layout_name *sorted, size_t count, const char *name)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (strcmp(sorted[mid].name, name) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low < count && strcmp(sorted[low].name, name) == 0 ? sorted[low].item
								  : LAYOUT_NO_ITEM;
}

void findings_add(struct findings *f, bool fatal, size_t line, const char *fmt, ...)
{
	struct finding *one = add((void **)&f->all, &f->count, &f->room, sizeof(*f->all));
	char raw[1024], safe[1024];
	va_list ap;

	f->fatal += fatal;
	va_start(ap, fmt);
	vsnprintf(raw, sizeof(raw), fmt, ap);
	va_end(ap);
	if (one)
		*one = (struct finding){ fatal, line,
					 strdup(text_printable(raw, safe, sizeof(safe))) };
	f->failed |= !one || !one->text;
}

void findings_clear(struct findings *f)
{
	for (size_t i = 0; i < f->count; i++)
		free(f->all[i].text);
	free(f->all);
	memset(f, 0, sizeof(*f));
}

/* One line of the file, cut into pairs. */
struct pair {
	char *key, *value;
};

/*
 * The next pair of a line. False at its end; then *rest is what is no pair, or NULL. Slurm's own
 * grammar: [[:alnum:]_.]+ blanks = blanks, then "..." or a word.
 */
static bool next_pair(char **line, struct pair *pair, char **rest)
{
	char *p = *line + strspn(*line, " \t"), *key_end, *end;

	*rest = *p ? p : NULL;
	pair->key = p;
	while (isalnum((unsigned char)*p) || *p == '_' || *p == '.')
		p++;
	key_end = p;
	p += strspn(p, " \t");
	if (key_end == pair->key || *p++ != '=')
		return false;
	p += strspn(p, " \t");
	if (*p == '"' && (end = strchr(p + 1, '"'))) {
		p++;
	} else {
		end = p + strcspn(p, " \t");
		if (end == p)
			return false;
	}
	*line = *end ? end + 1 : end;
	*key_end = *end = '\0';
	pair->value = p;
	*rest = NULL;
	return true;
}

static bool is(const char *key, const char *name)
{
	return strcasecmp(key, name) == 0;
}

struct parser {
	struct layout *l;
	struct findings *findings;
	size_t line;
	bool shown; /* by scontrol */
};

/* The topology that a line of that kind is part of; NULL after saying that it can't be. */
static struct layout_topology *topology_for(struct parser *p, enum layout_kind kind)
{
	struct layout_topology *t = &p->l->topologies[0];

	if (t->kind == LAYOUT_NONE)
		t->kind = kind;
	if (t->kind == kind)
		return t;
	findings_add(
		p->findings, true, p->line,
		"a line of topology/%s in a file for topology/%s: slurmctld reads lines of one "
		"plugin only; take it out, or write a topology.yaml",
		kind_names[kind], kind_names[t->kind]);
	return NULL;
}

static int set(char **where, const char *value)
{
	free(*where);
	*where = strdup(value);
	return *where ? 0 : -ENOMEM;
}

static void take_sizes(struct parser *p, char *text)
{
	struct layout_topology *t = topology_for(p, LAYOUT_BLOCK);
	char *save = NULL;

	if (!t)
		return;
	t->size_count = 0;
	t->sizes_line = p->line;
	for (char *one = strtok_r(text, ",", &save); one; one = strtok_r(NULL, ",", &save)) {
		if (t->size_count == LAYOUT_SIZES_MAX)
			break;
		t->sizes[t->size_count++] = strtol(one, NULL, 10);
	}
}

static void check_number(struct parser *p, const char *value)
{
	uint64_t n;

	if (!u64_parse(value, UINT32_MAX, &n))
		findings_add(p->findings, true, p->line, "LinkSpeed=%.80s is no number", value);
}

/* Keys that only `scontrol show topology` has. */
static bool is_shown(const char *key)
{
	return is(key, "Level") || is(key, "BlockIndex") || is(key, "BlockSize") ||
	       is(key, "RingSize");
}

/* What is behind the name on a line. */
static int take_rest(struct parser *p, struct layout_item *item, enum layout_kind kind, char *line)
{
	struct pair pair;
	char *rest;
	int rc = 0;

	while (rc == 0 && next_pair(&line, &pair, &rest)) {
		if (is(pair.key, "Nodes"))
			rc = set(&item->nodes, pair.value);
		else if (kind == LAYOUT_TREE && is(pair.key, "Switches"))
			rc = set(&item->children, pair.value);
		else if (kind == LAYOUT_TREE && is(pair.key, "LinkSpeed"))
			check_number(p, pair.value);
		else if (!p->shown || !is_shown(pair.key))
			findings_add(p->findings, true, p->line,
				     "\"%.80s\" is no key of such a line; take it out", pair.key);
	}
	if (rc == 0 && rest)
		findings_add(p->findings, true, p->line,
			     "\"%.80s\" is no Key=Value; lists have no blanks in them", rest);
	return rc;
}

static int take_line(struct parser *p, char *line)
{
	static const char *const names[] = { "", "SwitchName", "BlockName", "", "RingName", "" };
	struct layout_topology *t;
	struct layout_item *item;
	enum layout_kind kind = LAYOUT_NONE;
	struct pair pair;
	char *rest;

	if (!next_pair(&line, &pair, &rest)) {
		if (rest)
			findings_add(p->findings, true, p->line,
				     "\"%.80s\" is no line of topology.conf", rest);
		return 0;
	}
	for (size_t i = 1; i < sizeof(names) / sizeof(names[0]); i++)
		if (*names[i] && is(pair.key, names[i]))
			kind = (enum layout_kind)i;
	if (p->shown && is(pair.key, "AggregatedBlock"))
		return 0;
	if (is(pair.key, "BlockSizes")) {
		take_sizes(p, pair.value);
		return 0;
	}
	if (kind == LAYOUT_NONE) {
		findings_add(p->findings, true, p->line,
			     "\"%.80s\" begins no line of topology.conf", pair.key);
		return 0;
	}
	t = topology_for(p, kind);
	if (!t)
		return 0;
	item = layout_add_item(t, p->line);
	if (!item || set(&item->name, pair.value) < 0)
		return -ENOMEM;
	return take_rest(p, item, kind, line);
}

/* Cuts comments; an escaped '#' is none, and neither is one in quotes' middle to Slurm. */
static void cut_comment(char *line)
{
	for (char *p = line; *p; p++)
		if (*p == '#' && (p == line || p[-1] != '\\'))
			*p = '\0';
}

static int parse(struct parser p, const char *text, size_t len)
{
	char *copy = calloc(len + 1, 1), *next;
	int rc = copy ? 0 : -ENOMEM;

	memset(p.l, 0, sizeof(*p.l));
	if (rc == 0 && !layout_add(p.l))
		rc = -ENOMEM;
	if (rc == 0)
		memcpy(copy, text, len);
	for (size_t i = 0; rc == 0 && i < len; i++)
		if (copy[i] == '\0' || copy[i] == '\r')
			copy[i] = ' ';
	next = copy;
	for (char *line = next; rc == 0 && line && *line; line = next) {
		size_t lines = 1;
		next = strchr(line, '\n');
		while (next && next > line && next[-1] == '\\') { /* joined with the next */
			next[-1] = *next = ' ';
			lines++;
			next = strchr(next, '\n');
		}
		if (next)
			*next++ = '\0';
		p.line++;
		cut_comment(line);
		rc = take_line(&p, line);
		p.line += lines - 1;
	}
	free(copy);
	return rc;
}

int layout_parse(const char *text, size_t len, struct layout *l, struct findings *findings)
{
	return parse((struct parser){ l, findings, 0, false }, text, len);
}

int layout_parse_shown(const char *text, size_t len, struct layout *l, struct findings *findings)
{
	return parse((struct parser){ l, findings, 0, true }, text, len);
}

char *layout_text(const struct layout_topology *t, const char *comments)
{
	const char *name = t->kind == LAYOUT_TREE ? "SwitchName" : "BlockName";
	struct io_text out = { 0 };

	io_add(&out, "%s", comments);
	for (size_t i = 0; i < t->count; i++) {
		const struct layout_item *it = &t->items[i];
		io_add(&out, "%s=%s", name, it->name);
		if (it->nodes)
			io_add(&out, " Nodes=%s", it->nodes);
		if (it->children)
			io_add(&out, " Switches=%s", it->children);
		io_add(&out, "\n");
	}
	for (size_t i = 0; i < t->size_count; i++)
		io_add(&out, "%s%ld%s", i ? "," : "BlockSizes=", t->sizes[i],
		       i + 1 == t->size_count ? "\n" : "");
	return io_end(&out);
}
