/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * namemap.c - see namemap.h.
 */
#include "namemap.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

#define LINE_BYTES 512

struct pair {
	uint64_t guid;
	size_t line;
	char *name;
};

struct namemap {
	struct pair *pairs; /* by GUID, then line */
	size_t count, room;
};

void namemap_free(struct namemap *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->count; i++)
		free(m->pairs[i].name);
	free(m->pairs);
	free(m);
}

/* "0x" and 1 to 16 digits, the same as an id ("H-..."), 16 digits, or "0002:c903:00a1:b2c3". */
static bool read_guid(const char *word, uint64_t *guid)
{
	bool marked = strncmp(word, "0x", 2) == 0 || strncmp(word, "0X", 2) == 0 ||
		      (strchr("HSR", word[0]) && word[0] && word[1] == '-');
	const char *digits = marked ? word + 2 : word;
	size_t n = strspn(digits, "0123456789abcdefABCDEF");

	if (!marked && guid_parse_sysfs(word, guid))
		return *guid != 0;
	if (digits[n] || n == 0 || n > 16 || (!marked && n != 16))
		return false;
	*guid = strtoull(digits, NULL, 16);
	return *guid != 0;
}

/* The next word of *line, or what is in its quotes; NULL: none. */
static char *next_word(char **line)
{
	char *p = *line + strspn(*line, " \t"), *end;

	if (*p == '\0' || *p == '#')
		return NULL;
	if (*p == '"') {
		end = strchr(++p, '"');
		if (!end)
			return NULL;
	} else {
		end = p + strcspn(p, " \t");
	}
	*line = *end ? end + 1 : end;
	*end = '\0';
	return p;
}

static int add(struct namemap *m, uint64_t guid, size_t line, const char *name)
{
	if (m->count == m->room) {
		size_t more = m->room ? m->room * 2 : 256;
		struct pair *bigger = reallocarray(m->pairs, more, sizeof(*bigger));
		if (!bigger)
			return -ENOMEM;
		m->pairs = bigger;
		m->room = more;
	}
	m->pairs[m->count] = (struct pair){ guid, line, strdup(name) };
	return m->pairs[m->count].name ? (m->count++, 0) : -ENOMEM;
}

/* -EINVAL: not a pair. */
static int take_line(struct namemap *m, char *line, size_t number)
{
	char *one, *other, *rest;
	uint64_t guid;

	one = next_word(&line);
	if (!one)
		return *line == '\0' || line[strspn(line, " \t")] != '"' ? 0 : -EINVAL;
	other = next_word(&line);
	rest = other ? next_word(&line) : NULL;
	if (!other || !*other || rest)
		return -EINVAL;
	if (read_guid(one, &guid))
		return add(m, guid, number, other);
	if (!read_guid(other, &guid))
		return -EINVAL;
	one[strcspn(one, ":")] = '\0';
	return *one ? add(m, guid, number, one) : -EINVAL;
}

static int by_pair(const void *x, const void *y)
{
	const struct pair *a = x, *b = y;

	if (a->guid != b->guid)
		return a->guid < b->guid ? -1 : 1;
	return (a->line > b->line) - (a->line < b->line);
}

/* The last name of a GUID counts. */
static void drop_earlier(struct namemap *m, const char *source, struct notes *warnings)
{
	size_t kept = 0;

	qsort(m->pairs, m->count, sizeof(*m->pairs), by_pair);
	for (size_t i = 0; i < m->count; i++) {
		struct pair *last = kept ? &m->pairs[kept - 1] : NULL;
		if (!last || last->guid != m->pairs[i].guid) {
			m->pairs[kept++] = m->pairs[i];
			continue;
		}
		if (strcmp(last->name, m->pairs[i].name) != 0)
			notes_add(warnings, "%s:%zu: 0x%016llx was called %.64s in line %zu",
				  source, m->pairs[i].line, (unsigned long long)last->guid,
				  last->name, last->line);
		free(last->name);
		*last = m->pairs[i];
	}
	m->count = kept;
}

struct namemap *namemap_parse(const char *text, size_t len, const char *source,
			      struct notes *warnings, struct err *err)
{
	struct namemap *m = calloc(1, sizeof(*m));
	int rc = m ? 0 : -ENOMEM;

	for (size_t number = 1; rc == 0 && len; number++) {
		const char *end = memchr(text, '\n', len);
		size_t n = end ? (size_t)(end - text) : len, used = n + (end ? 1 : 0);
		char line[LINE_BYTES];
		while (n && isspace((unsigned char)text[n - 1]))
			n--;
		memcpy(line, text, n < sizeof(line) ? n : 0);
		line[n < sizeof(line) ? n : 0] = '\0';
		rc = n < sizeof(line) && !memchr(line, '\0', n) ? take_line(m, line, number)
								: -EINVAL;
		if (rc == -EINVAL) {
			notes_add(warnings, "%s:%zu: no GUID and name: %.*s", source, number,
				  n < 80 ? (int)n : 80, text);
			rc = 0;
		}
		text += used;
		len -= used;
	}
	if (rc == 0 && m->count == 0)
		rc = err_set(err, EINVAL,
			     "%s: there is no GUID with a name in it; write lines like "
			     "0x0008f10400411f56 \"gpu1 mlx5_0\"",
			     source);
	else if (rc < 0)
		err_set(err, -rc, "%s: out of memory", source);
	if (rc == 0) {
		drop_earlier(m, source, warnings);
		return m;
	}
	namemap_free(m);
	return NULL;
}

const char *namemap_find(const struct namemap *m, uint64_t guid)
{
	size_t low = 0, high = m ? m->count : 0;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (m->pairs[mid].guid == guid)
			return m->pairs[mid].name;
		if (m->pairs[mid].guid < guid)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}
