/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hosts.c - see hosts.h.
 *
 * libslurm's host lists take nearly any bytes ("n[1-" is the host "n]") and expand a short text to
 * billions of names, some of them at once. So the brackets are checked and the names are counted
 * before libslurm sees a text.
 */
#include "hosts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "slurm_api.h"

void hosts_free(char **names, size_t count)
{
	for (size_t i = 0; names && i < count; i++)
		free(names[i]);
	free(names);
}

/* Takes all names out of list. libslurm hands them out malloc'ed. */
static int take_names(slurm_hostlist list, char **out, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		out[i] = slurm_hostlist_shift(list);
		if (!out[i])
			return -ENOMEM;
	}
	return 0;
}

#define MAX_DIGITS 18 /* a number of more is not what libslurm folds it to */

/* Moves behind a number that `before` digits stand before; *digits gets the most of both together.
 */
static const char *take_number(const char *p, size_t before, size_t *digits, size_t *number)
{
	size_t n = strspn(p, "0123456789");

	if (n == 0 || before + n > MAX_DIGITS)
		return NULL;
	*number = strtoull(p, NULL, 10);
	*digits = before + n > *digits ? before + n : *digits;
	return p + n;
}

/*
 * Adds up the ranges behind a '[', to max + 1 at most. Returns what is behind the ']', or NULL.
 * *digits: of the number that ends before the '['; then of the longest that it makes with a range.
 */
static const char *count_ranges(const char *p, size_t max, size_t *sum, size_t *digits)
{
	size_t before = *digits;

	for (*sum = 0;; p++) {
		size_t low, high;

		p = take_number(p, before, digits, &low);
		high = low;
		if (p && *p == '-')
			p = take_number(p + 1, before, digits, &high);
		if (!p)
			return NULL;
		if (high < low)
			return NULL;
		*sum = high - low >= max || *sum + (high - low) >= max ? max + 1
								       : *sum + (high - low) + 1;
		if (*p == ']')
			return p + 1;
		if (*p != ',')
			return NULL;
	}
}

/* Counts the names of text, to max + 1 at most. 0, or -EINVAL when its brackets are no good. */
static int count_names(const char *text, size_t max, size_t *count)
{
	size_t names = 1, digits = 0, sum; /* of the element at p */

	*count = 0;
	for (const char *p = text; *p;) {
		if (*p == ']')
			return -EINVAL;
		if (*p == '[') {
			p = count_ranges(p + 1, max, &sum, &digits);
			if (!p)
				return -EINVAL;
			names = names > max / sum ? max + 1 : names * sum;
			continue;
		}
		digits = *p >= '0' && *p <= '9' ? digits + 1 : 0;
		if (digits > MAX_DIGITS)
			return -EINVAL;
		if (*p++ != ',')
			continue;
		*count = *count > max - (names < max ? names : max) ? max + 1 : *count + names;
		if (*count > max)
			return 0;
		names = 1;
	}
	*count = names > max - *count ? max + 1 : *count + names;
	return 0;
}

int hosts_expand(const char *text, size_t max, char ***names, size_t *count, struct err *err)
{
	slurm_hostlist list = NULL;
	size_t counted = 0;
	char **out;
	int n, rc = count_names(text, max, &counted);

	if (rc == 0 && counted > max)
		return err_set(err, E2BIG, "\"%.64s\" names more than %zu hosts", text, max);
	if (rc == 0)
		list = slurm_hostlist_create(text);
	if (!list)
		return err_set(err, EINVAL, "\"%.200s\" is no host list; write it like n[1-4,7]",
			       text);
	n = slurm_hostlist_count(list);
	if (n < 0 || (size_t)n > max) {
		slurm_hostlist_destroy(list);
		return err_set(err, E2BIG, "\"%.64s\" names more than %zu hosts", text, max);
	}
	out = calloc((size_t)n + 1, sizeof(*out));
	rc = out ? take_names(list, out, (size_t)n) : -ENOMEM;
	slurm_hostlist_destroy(list);
	if (rc < 0) {
		hosts_free(out, (size_t)n);
		return err_set(err, ENOMEM, "out of memory");
	}
	*names = out;
	*count = (size_t)n;
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strverscmp(*(const char *const *)a, *(const char *const *)b);
}

char *hosts_fold(const char *const *names, size_t count)
{
	const char **sorted = calloc(count + 1, sizeof(*sorted));
	slurm_hostlist list = slurm_hostlist_create(NULL);
	char *text = NULL;
	size_t room = 64; /* Slurm wants some bytes more than it needs */

	if (!sorted || !list)
		goto out;
	if (count)
		memcpy(sorted, names, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), by_name);
	for (size_t i = 0; i < count; i++) {
		room += strlen(sorted[i]) + strlen("[],");
		if (i == 0 || strcmp(sorted[i], sorted[i - 1]) != 0)
			slurm_hostlist_push_host(list, sorted[i]);
	}
	text = malloc(room);
	if (text && slurm_hostlist_ranged_string(list, room, text) < 0) {
		free(text);
		text = NULL;
	}
out:
	free(sorted);
	if (list)
		slurm_hostlist_destroy(list);
	return text;
}
