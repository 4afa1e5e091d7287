/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * partitions.c - see partitions.h.
 *
 *   compute = 0x8001, ipoib : 0x0002c90300a1b2c3=full, 0x0002c90300a1b2c4 ; # comment
 *   Default = 0x7fff : ALL=limited, SELF=full ;
 */
#include "partitions.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#define KEY_MASK 0x7fffu /* the highest bit is membership */

struct partition {
	char *name;
	int key; /* -1: opensm makes one up */
	bool all;
};

struct member {
	uint64_t guid;
	size_t partition;
};

struct partitions {
	struct partition *all;
	size_t count, room;
	struct member *members; /* by GUID */
	size_t member_count, member_room;
};

void partitions_free(struct partitions *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->count; i++)
		free(p->all[i].name);
	free(p->all);
	free(p->members);
	free(p);
}

/* Makes room for one more element behind *count ones. */
static int make_room(void **array, size_t count, size_t *room, size_t size)
{
	size_t more = *room ? *room * 2 : 64;
	void *bigger;

	if (count < *room)
		return 0;
	bigger = reallocarray(*array, more, size);
	if (!bigger)
		return -ENOMEM;
	*array = bigger;
	*room = more;
	return 0;
}

static char *trim(char *text)
{
	size_t len;

	while (isspace((unsigned char)*text))
		text++;
	len = strlen(text);
	while (len && isspace((unsigned char)text[len - 1]))
		text[--len] = '\0';
	return text;
}

/* "0x" and hex digits, nothing else. */
static bool read_hex(const char *text, uint64_t *value)
{
	size_t n;

	if (strncmp(text, "0x", 2) != 0)
		return false;
	n = strspn(text + 2, "0123456789abcdefABCDEF");
	if (n == 0 || n > 16 || text[2 + n])
		return false;
	*value = strtoull(text + 2, NULL, 16);
	return true;
}

/* "name = 0x8001, flags" in front of the colon. */
static int begin(struct partitions *p, char *head)
{
	char *equals;
	uint64_t key;

	if (make_room((void **)&p->all, p->count, &p->room, sizeof(*p->all)) < 0)
		return -ENOMEM;
	head[strcspn(head, ",")] = '\0';
	equals = strchr(head, '=');
	if (equals)
		*equals = '\0';
	p->all[p->count] = (struct partition){ strdup(trim(head)), -1, false };
	if (!p->all[p->count].name)
		return -ENOMEM;
	if (equals && read_hex(trim(equals + 1), &key) && key <= 0xffff)
		p->all[p->count].key = (int)(key & KEY_MASK);
	p->count++;
	return 0;
}

static int add_member(struct partitions *p, char *word)
{
	uint64_t guid;

	word[strcspn(word, "=")] = '\0';
	word = trim(word);
	if (strcmp(word, "ALL") == 0 || strcmp(word, "ALL_CAS") == 0)
		p->all[p->count - 1].all = true;
	if (!read_hex(word, &guid) || guid == 0)
		return 0;
	if (make_room((void **)&p->members, p->member_count, &p->member_room, sizeof(*p->members)) <
	    0)
		return -ENOMEM;
	p->members[p->member_count++] = (struct member){ guid, p->count - 1 };
	return 0;
}

/* One definition, up to its semicolon. */
static int take(struct partitions *p, char *text)
{
	char *colon = strchr(text, ':'), *save = NULL;
	int rc;

	if (!colon)
		return 0;
	*colon = '\0';
	rc = begin(p, text);
	for (char *word = strtok_r(colon + 1, ",\n", &save); rc == 0 && word;
	     word = strtok_r(NULL, ",\n", &save))
		rc = add_member(p, word);
	return rc;
}

static int by_guid(const void *x, const void *y)
{
	const struct member *a = x, *b = y;

	if (a->guid != b->guid)
		return a->guid < b->guid ? -1 : 1;
	return (a->partition > b->partition) - (a->partition < b->partition);
}

/* Comments, and bytes that are no text, become blanks. */
static void blank_comments(char *text, size_t len)
{
	bool comment = false;

	for (size_t i = 0; i < len; i++) {
		comment = text[i] != '\n' && (comment || text[i] == '#');
		if (comment || text[i] == '\0')
			text[i] = ' ';
	}
}

struct partitions *partitions_parse(const char *text, size_t len, const char *source,
				    struct err *err)
{
	struct partitions *p = calloc(1, sizeof(*p));
	char *copy = calloc(len + 1, 1), *save = NULL;
	int rc = p && copy ? 0 : -ENOMEM;

	if (rc == 0) {
		memcpy(copy, text, len);
		blank_comments(copy, len);
	}
	for (char *one = rc == 0 ? strtok_r(copy, ";", &save) : NULL; rc == 0 && one;
	     one = strtok_r(NULL, ";", &save))
		rc = take(p, one);
	free(copy);
	if (rc == 0 && p->count == 0)
		rc = err_set(err, EINVAL,
			     "%s: there is no partition in it; opensm's partitions.conf is needed",
			     source);
	else if (rc < 0)
		err_set(err, -rc, "%s: out of memory", source);
	if (rc < 0) {
		partitions_free(p);
		return NULL;
	}
	if (p->member_count)
		qsort(p->members, p->member_count, sizeof(*p->members), by_guid);
	return p;
}

static bool matches(const struct partition *one, const char *pattern)
{
	uint64_t key;

	if (read_hex(pattern, &key))
		return one->key >= 0 && (key & KEY_MASK) == (uint64_t)one->key;
	return fnmatch(pattern, one->name, 0) == 0;
}

bool partitions_hold(const struct partitions *p, uint64_t port_guid, const char *pattern)
{
	size_t low = 0, high = p->member_count;

	if (port_guid == 0)
		return false;
	for (size_t i = 0; i < p->count; i++)
		if (p->all[i].all && matches(&p->all[i], pattern))
			return true;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (p->members[mid].guid < port_guid)
			low = mid + 1;
		else
			high = mid;
	}
	for (; low < p->member_count && p->members[low].guid == port_guid; low++)
		if (matches(&p->all[p->members[low].partition], pattern))
			return true;
	return false;
}
