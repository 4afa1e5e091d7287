/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * packet.c - see packet.h. libc only and no allocation: fabric.so carries it into slurmstepd.
 *
 * One table says which keys there are, in which order they are written, which kinds have them and
 * which of them a packet can do without; writing and reading both walk it, so that they can't
 * disagree.
 */
#include "packet.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "text.h"

#define MAGIC "fabric"

enum value_type {
	VALUE_U32,    /* uint32_t; PACKET_UNKNOWN is left out where the key is optional */
	VALUE_STEP,   /* uint32_t by name */
	VALUE_PID,    /* int32_t, from 1 */
	VALUE_NS,     /* int64_t, from 0 */
	VALUE_WORD,   /* char[PACKET_WORD] of visible ASCII; "" is left out */
	VALUE_NAME,   /* the same, a name of text.h */
	VALUE_GPUS,   /* gpus and gpus_known; "-" for none */
	VALUE_STATUS, /* status and status_known */
};

enum { BEGIN = 1 << PACKET_STEP_BEGIN, TASK = 1 << PACKET_TASK, END = 1 << PACKET_STEP_END };

struct field {
	const char *key;
	enum value_type type;
	unsigned int kinds; /* that have it */
	bool optional;
	size_t offset;
};

#define AT(member) offsetof(struct packet, member)

static const struct field fields[] = {
	{ "job", VALUE_U32, BEGIN | TASK | END, false, AT(job) },
	{ "step", VALUE_STEP, BEGIN | TASK | END, false, AT(step) },
	{ "uid", VALUE_U32, BEGIN | END, false, AT(uid) },
	{ "node_index", VALUE_U32, BEGIN | END, false, AT(node_index) },
	{ "node_count", VALUE_U32, BEGIN | END, false, AT(node_count) },
	{ "tasks", VALUE_U32, BEGIN | END, true, AT(tasks) },
	{ "cores", VALUE_U32, BEGIN | END, true, AT(cores) },
	{ "gpus", VALUE_GPUS, BEGIN | END, true, AT(gpus) },
	{ "class", VALUE_WORD, BEGIN | END, true, AT(class) },
	{ "sample", VALUE_WORD, BEGIN | END, true, AT(sample) },
	{ "env", VALUE_WORD, BEGIN | END, true, AT(env) },
	{ "mark", VALUE_NAME, BEGIN | END, true, AT(mark) },
	{ "began_ns", VALUE_NS, BEGIN | END, false, AT(began_ns) },
	{ "began_mono_ns", VALUE_NS, BEGIN | END, false, AT(began_mono_ns) },
	{ "local_id", VALUE_U32, TASK, false, AT(local_id) },
	{ "pid", VALUE_PID, TASK, false, AT(pid) },
	{ "ended_ns", VALUE_NS, END, false, AT(ended_ns) },
	{ "status", VALUE_STATUS, END, true, AT(status) },
	{ "hooks_us", VALUE_U32, END, false, AT(hooks_us) },
};

#define FIELDS (sizeof(fields) / sizeof(fields[0]))
#define VALUE_MAX sizeof(((struct packet *)0)->gpus)

static const char *const kind_names[] = {
	[PACKET_STEP_BEGIN] = "step-begin",
	[PACKET_TASK] = "task",
	[PACKET_STEP_END] = "step-end",
};

#define KINDS (sizeof(kind_names) / sizeof(kind_names[0]))

static bool visible(const char *text)
{
	for (; *text; text++)
		if (*text < 0x21 || *text > 0x7e)
			return false;
	return true;
}

/* "0,1,15": decimal numbers of at most five digits with a comma between them. */
static bool index_list(const char *text)
{
	for (;;) {
		size_t count = strspn(text, "0123456789");

		if (count == 0 || count > 5)
			return false;
		text += count;
		if (!*text)
			return true;
		if (*text++ != ',')
			return false;
	}
}

/* Puts text into the member of p that f names; false when it is no value for it. */
static bool value_read(struct packet *p, const struct field *f, const char *text)
{
	char *member = (char *)p + f->offset;
	uint64_t number;

	switch (f->type) {
	case VALUE_U32:
		if (!u64_parse(text, PACKET_UNKNOWN - 1, &number))
			return false;
		*(uint32_t *)member = (uint32_t)number;
		return true;
	case VALUE_STEP:
		return step_parse(text, (uint32_t *)member);
	case VALUE_PID:
		if (!u64_parse(text, INT32_MAX, &number) || number == 0)
			return false;
		*(int32_t *)member = (int32_t)number;
		return true;
	case VALUE_NS:
		if (!u64_parse(text, INT64_MAX, &number))
			return false;
		*(int64_t *)member = (int64_t)number;
		return true;
	case VALUE_NAME:
		if (!name_valid(text, PACKET_WORD - 1))
			return false;
		strcpy(member, text);
		return true;
	case VALUE_WORD:
		if (!*text || strlen(text) >= PACKET_WORD || !visible(text))
			return false;
		strcpy(member, text);
		return true;
	case VALUE_GPUS:
		p->gpus_known = true;
		if (!strcmp(text, "-"))
			return true;
		if (strlen(text) >= VALUE_MAX || !index_list(text))
			return false;
		strcpy(member, text);
		return true;
	case VALUE_STATUS:
		if (!u64_parse(text, INT32_MAX, &number))
			return false;
		p->status = (int32_t)number;
		p->status_known = true;
		return true;
	}
	return false;
}

/* The text of a member into out; "" when there is nothing to say. */
static void value_write(const struct packet *p, const struct field *f, char out[VALUE_MAX])
{
	const char *member = (const char *)p + f->offset;

	out[0] = '\0';
	switch (f->type) {
	case VALUE_U32:
		if (!f->optional || *(const uint32_t *)member != PACKET_UNKNOWN)
			snprintf(out, VALUE_MAX, "%u", *(const uint32_t *)member);
		break;
	case VALUE_STEP:
		step_format(*(const uint32_t *)member, out);
		break;
	case VALUE_PID:
		snprintf(out, VALUE_MAX, "%d", *(const int32_t *)member);
		break;
	case VALUE_NS:
		snprintf(out, VALUE_MAX, "%lld", (long long)*(const int64_t *)member);
		break;
	case VALUE_WORD:
	case VALUE_NAME:
		snprintf(out, VALUE_MAX, "%.*s", PACKET_WORD - 1, member);
		break;
	case VALUE_GPUS:
		if (p->gpus_known)
			snprintf(out, VALUE_MAX, "%s", *member ? member : "-");
		break;
	case VALUE_STATUS:
		if (p->status_known)
			snprintf(out, VALUE_MAX, "%d", p->status);
		break;
	}
}

/* Nothing known. */
static void packet_clear(struct packet *p, enum packet_kind kind)
{
	memset(p, 0, sizeof(*p));
	p->kind = kind;
	p->tasks = PACKET_UNKNOWN;
	p->cores = PACKET_UNKNOWN;
}

/* The node's place in its step: an index that is none of the step's nodes makes no sense. */
static bool place_valid(const struct packet *p)
{
	return p->kind == PACKET_TASK || p->node_index < p->node_count;
}

int packet_write(const struct packet *p, char out[PACKET_MAX])
{
	struct packet check;
	size_t used;
	int len;

	if ((unsigned int)p->kind >= KINDS)
		return -EINVAL;
	packet_clear(&check, p->kind);
	used = (size_t)snprintf(out, PACKET_MAX, MAGIC " %d %s\n", PACKET_VERSION,
				kind_names[p->kind]);
	for (size_t i = 0; i < FIELDS; i++) {
		const struct field *f = &fields[i];
		char value[VALUE_MAX];

		if (!(f->kinds & 1u << p->kind))
			continue;
		value_write(p, f, value);
		if (!value[0] && f->optional)
			continue;
		if (!value_read(&check, f, value))
			return -EINVAL;
		len = snprintf(out + used, PACKET_MAX - used, "%s %s\n", f->key, value);
		if (len < 0 || (size_t)len >= PACKET_MAX - used)
			return -EMSGSIZE;
		used += (size_t)len;
	}
	return place_valid(&check) ? (int)used : -EINVAL;
}

/* The first line, without its newline. */
static int head_read(const char *line, size_t len, enum packet_kind *kind, struct err *err)
{
	char text[64], *version, *name;
	uint64_t number;

	if (len >= sizeof(text))
		return err_set(err, EPROTO, "packet: the first line is too long");
	memcpy(text, line, len);
	text[len] = '\0';
	version = strchr(text, ' ');
	name = version ? strchr(version + 1, ' ') : NULL;
	if (!name || strncmp(text, MAGIC " ", sizeof(MAGIC)))
		return err_set(err, EPROTO,
			       "packet: does not begin with \"" MAGIC " VERSION KIND\"");
	*name++ = '\0';
	if (!u64_parse(version + 1, UINT32_MAX, &number) || number == 0)
		return err_set(err, EPROTO, "packet: the version is no number");
	if (number > PACKET_VERSION)
		return err_set(err, EPROTO,
			       "packet: version %u is newer than %d: update sfabricd on this node",
			       (unsigned int)number, PACKET_VERSION);
	for (size_t i = 0; i < KINDS; i++)
		if (!strcmp(name, kind_names[i])) {
			*kind = (enum packet_kind)i;
			return 0;
		}
	return err_set(err, EPROTO, "packet: unknown kind");
}

static const struct field *field_find(const char *key, size_t len, unsigned int kind)
{
	for (size_t i = 0; i < FIELDS; i++)
		if (fields[i].kinds & kind && strlen(fields[i].key) == len &&
		    !memcmp(fields[i].key, key, len))
			return &fields[i];
	return NULL;
}

/* One "key value" line, without its newline. seen: bits of the keys met so far. */
static int line_read(struct packet *p, const char *line, size_t len, uint32_t *seen,
		     struct err *err)
{
	const char *space = memchr(line, ' ', len);
	const struct field *f;
	char value[VALUE_MAX];
	size_t size;

	if (!space || space == line)
		return err_set(err, EPROTO, "packet: a line is no \"key value\"");
	f = field_find(line, (size_t)(space - line), 1u << p->kind);
	if (!f)
		return 0;
	if (*seen & 1u << (f - fields))
		return err_set(err, EPROTO, "packet: \"%s\" is there twice", f->key);
	*seen |= 1u << (f - fields);
	size = len - (size_t)(space + 1 - line);
	if (size >= sizeof(value))
		return err_set(err, EPROTO, "packet: \"%s\" is too long", f->key);
	memcpy(value, space + 1, size);
	value[size] = '\0';
	if (!value_read(p, f, value))
		return err_set(err, EPROTO, "packet: bad value of \"%s\"", f->key);
	return 0;
}

int packet_read(const char *text, size_t len, struct packet *p, struct err *err)
{
	const char *end = text + len, *newline;
	enum packet_kind kind = PACKET_STEP_BEGIN;
	uint32_t seen = 0;
	int rc;

	_Static_assert(FIELDS <= 32, "seen has a bit for each key");
	if (len == 0 || len > PACKET_MAX || text[len - 1] != '\n' || memchr(text, '\0', len))
		return err_set(err, EPROTO, "packet: %zu bytes that are no whole lines of text",
			       len);
	newline = memchr(text, '\n', len);
	rc = head_read(text, (size_t)(newline - text), &kind, err);
	if (rc)
		return rc;
	packet_clear(p, kind);
	for (const char *line = newline + 1; line < end; line = newline + 1) {
		newline = memchr(line, '\n', (size_t)(end - line));
		rc = line_read(p, line, (size_t)(newline - line), &seen, err);
		if (rc)
			return rc;
	}
	for (size_t i = 0; i < FIELDS; i++)
		if (fields[i].kinds & 1u << kind && !fields[i].optional && !(seen & 1u << i))
			return err_set(err, EPROTO, "packet: \"%s\" is missing", fields[i].key);
	if (!place_valid(p))
		return err_set(err, EPROTO, "packet: node %u of %u", p->node_index, p->node_count);
	return 0;
}
