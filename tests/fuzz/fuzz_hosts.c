/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_hosts.c - host lists: a list that is taken is within its bound, and the names folded and
 * expanded again are the same names.
 */
#include "fuzz.h"
#include "hosts.h"

#define MOST 1000

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sorts the names and drops those that are there twice: how many are left. */
static size_t sort_names(char **names, size_t count)
{
	size_t kept = 0;

	qsort(names, count, sizeof(*names), by_name);
	for (size_t i = 0; i < count; i++) {
		if (kept && !strcmp(names[kept - 1], names[i]))
			free(names[i]);
		else
			names[kept++] = names[i];
	}
	return kept;
}

/* libslurm takes leading blanks and the like as parts of names: those fold to anything. */
static bool plain(char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!names[i][0] ||
		    strspn(names[i], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRST"
				     "UVWXYZ0123456789_.-") != strlen(names[i]))
			return false;
	return true;
}

static void run(const char *data, size_t len)
{
	char *text = fuzz_text(data, len), *folded, **names, **again;
	struct err err = { "" };
	size_t count, same;
	int rc = hosts_expand(text, MOST, &names, &count, &err);

	must(rc == 0 || err.text[0]);
	free(text);
	if (rc < 0)
		return;
	must(count <= MOST);
	count = sort_names(names, count);
	if (count && plain(names, count)) {
		folded = fuzz_have(hosts_fold((const char *const *)names, count));
		must(hosts_expand(folded, MOST, &again, &same, &err) == 0);
		must(sort_names(again, same) == count);
		for (size_t i = 0; i < count; i++)
			must(fuzz_same(names[i], again[i]));
		hosts_free(again, count);
		free(folded);
	}
	hosts_free(names, count);
}

const struct fuzz_target fuzz_hosts = { "hosts", "", run };
