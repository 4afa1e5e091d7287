/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * summary.c - see summary.h.
 *
 * Two layers. A series holds the last value of one counter and the sum of its increments. A group
 * is a device and a meaning: the sum over its series, and the rates of its intervals. Rates are
 * kept as a uniform random sample of at most 256 intervals (Vitter's algorithm R): exact for the
 * first four minutes at 1 Hz, and within two percentile points for any length.
 */
#include "summary.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RATES_MAX 256
#define RATES_MIN 3 /* percentiles of fewer intervals say nothing */

struct follow {
	const struct series *series;
	size_t group;
	uint64_t last, total;
	uint64_t values; /* how many were valid */
	bool saturated;	 /* reached its end while we looked */
	bool useless;	 /* was there already when we began */
	bool reset, late, gone, overflow;
};

struct group {
	const char *device;
	enum meaning meaning;
	bool rare;
	/* the interval that is open */
	bool open;
	int64_t since_ns;
	uint64_t sum;
	/* within a pass */
	size_t series, valid;
	bool spoilt;
	/* rates of closed intervals */
	float *rates;
	size_t rate_count, rate_room;
	uint64_t intervals;
	double max;
};

struct summary {
	int64_t min_interval_ns; /* shorter intervals are joined with the next: their rates are
				    noise */
	struct follow *follows;
	size_t follow_count;
	struct group *groups;
	size_t group_count;
	uint64_t passes;
	uint64_t random;
};

struct summary *summary_new(int64_t interval_ns)
{
	struct summary *s = calloc(1, sizeof(*s));

	if (s) {
		s->min_interval_ns = interval_ns / 2;
		s->random = UINT64_C(0x9e3779b97f4a7c15);
	}
	return s;
}

void summary_free(struct summary *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->group_count; i++)
		free(s->groups[i].rates);
	free(s->groups);
	free(s->follows);
	free(s);
}

static int find_group(struct summary *s, const struct series *series, size_t *at)
{
	struct group *more;

	for (*at = 0; *at < s->group_count; (*at)++)
		if (s->groups[*at].meaning == series->meaning &&
		    !strcmp(s->groups[*at].device, series->device))
			return 0;
	more = reallocarray(s->groups, s->group_count + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	s->groups = more;
	more[s->group_count++] =
		(struct group){ .device = series->device, .meaning = series->meaning };
	return 0;
}

int summary_add_series(struct summary *s, const struct series *series)
{
	struct follow *more = reallocarray(s->follows, s->follow_count + 1, sizeof(*more));
	size_t at;

	if (!more)
		return -ENOMEM;
	s->follows = more;
	if (find_group(s, series, &at) < 0)
		return -ENOMEM;
	more[s->follow_count++] = (struct follow){ .series = series, .group = at };
	s->groups[at].rare |= series->rare;
	return 0;
}

size_t summary_series_count(const struct summary *s)
{
	return s->follow_count;
}

static uint64_t highest(const struct series *series)
{
	return series->width >= 64 ? UINT64_MAX : (UINT64_C(1) << series->width) - 1;
}

/*
 * The increment from the last value to this one. A narrow counter that went back has wrapped if the
 * way over its end is short, a sixteenth of its range; anything else that went back was reset, and
 * what it counted since then is what is known.
 */
static uint64_t increment(struct follow *f, uint64_t value)
{
	uint64_t range = highest(f->series), over = (value - f->last) & range;

	if (value >= f->last)
		return value - f->last;
	if (f->series->behaviour == SERIES_WRAPS && f->series->width < 64 && f->last <= range &&
	    over < range >> 4)
		return over;
	f->reset = true;
	return value;
}

/* Takes a valid value over; true and *units when an increment is known. */
static bool follow_value(struct follow *f, uint64_t value, bool first, uint64_t *units)
{
	uint64_t counts;

	/* Only exactly the highest value: a higher one shows that the counter is wider than that.
	 */
	if (f->series->behaviour == SERIES_SATURATES && value == highest(f->series)) {
		f->useless |= f->values == 0;
		f->saturated = true;
		return false;
	}
	if (f->values++ == 0) {
		f->late = !first;
		f->last = value;
		return false;
	}
	counts = increment(f, value);
	f->last = value;
	if (__builtin_mul_overflow(counts, (uint64_t)f->series->scale, units) ||
	    __builtin_add_overflow(f->total, *units, &f->total)) {
		f->overflow = true;
		return false;
	}
	return true;
}

static uint64_t next_random(struct summary *s) /* xorshift64, Marsaglia 2003 */
{
	s->random ^= s->random << 13;
	s->random ^= s->random >> 7;
	s->random ^= s->random << 17;
	return s->random;
}

static void add_rate(struct summary *s, struct group *g, double rate)
{
	size_t at = g->rate_count;

	g->intervals++;
	g->max = fmax(g->max, rate);
	if (g->rate_count == RATES_MAX) {
		uint64_t pick = next_random(s) % g->intervals;

		if (pick < RATES_MAX)
			g->rates[pick] = (float)rate;
		return;
	}
	if (g->rate_count == g->rate_room) {
		size_t room = g->rate_room ? g->rate_room * 2 : 16;
		float *more = reallocarray(g->rates, room, sizeof(*more));

		if (!more) {
			g->intervals--;
			return; /* one interval less: a percentile, not a total */
		}
		g->rates = more;
		g->rate_room = room;
	}
	g->rates[at] = (float)rate;
	g->rate_count++;
}

/* Closes the open interval when all series of the group have a value and it is long enough. */
static void close_interval(struct summary *s, struct group *g, int64_t mono_ns)
{
	int64_t length = mono_ns - g->since_ns;

	if (g->rare || g->series == 0 || (g->valid < g->series && !g->spoilt))
		return;
	if (g->open && !g->spoilt && length < s->min_interval_ns)
		return;
	if (g->open && !g->spoilt && length > 0)
		add_rate(s, g, (double)g->sum * 1e9 / (double)length);
	g->open = g->valid == g->series;
	g->since_ns = mono_ns;
	g->sum = 0;
}

void summary_pass(struct summary *s, int64_t mono_ns, const uint64_t *values, const bool *valid,
		  size_t count, bool last)
{
	for (size_t i = 0; i < s->group_count; i++) {
		s->groups[i].series = 0;
		s->groups[i].valid = 0;
		s->groups[i].spoilt = false;
	}
	for (size_t i = 0; i < s->follow_count; i++) {
		struct follow *f = &s->follows[i];
		struct group *g = &s->groups[f->group];
		bool was_reset = f->reset, there = i < count && valid[i];
		uint64_t units = 0, before = f->values;

		if (there && follow_value(f, values[i], s->passes == 0, &units))
			g->sum += units;
		if (last && f->values > 0 && f->series->scope == SCOPE_NODE)
			f->gone = !there;
		if (f->values == 0 || f->saturated)
			continue;
		g->series++;
		g->valid += there;
		g->spoilt |= f->reset != was_reset || (before == 0 && g->open);
	}
	for (size_t i = 0; i < s->group_count; i++)
		close_interval(s, &s->groups[i], mono_ns);
	s->passes++;
}

/* The group's total: false when it is not known. */
static bool group_total(const struct summary *s, size_t group, uint64_t *total)
{
	bool known = false;

	*total = 0;
	for (size_t i = 0; i < s->follow_count; i++) {
		const struct follow *f = &s->follows[i];

		if (f->group != group || f->useless || (f->values == 0 && !f->saturated))
			continue;
		if (f->values < 2 || f->saturated || f->overflow ||
		    __builtin_add_overflow(*total, f->total, total))
			return false;
		known = true;
	}
	return known;
}

static int by_rate(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return x < y ? -1 : x > y;
}

/* Nearest rank: the smallest rate that share of the intervals do not exceed. */
static double percentile(const float *sorted, size_t count, double share)
{
	size_t rank = (size_t)ceil(share * (double)count);

	return (double)sorted[rank > 0 ? rank - 1 : 0];
}

static int fill_rates(const struct group *g, struct record *record)
{
	float *sorted;

	if (g->rate_count < RATES_MIN)
		return 0;
	sorted = calloc(g->rate_count, sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	memcpy(sorted, g->rates, g->rate_count * sizeof(*sorted));
	qsort(sorted, g->rate_count, sizeof(*sorted), by_rate);
	record_add_rates(record, g->device, g->meaning, percentile(sorted, g->rate_count, 0.5),
			 percentile(sorted, g->rate_count, 0.95), g->max);
	free(sorted);
	return 0;
}

int summary_fill(const struct summary *s, struct record *record)
{
	for (size_t i = 0; i < s->group_count; i++) {
		const struct group *g = &s->groups[i];
		uint64_t total;
		int rc;

		if (!group_total(s, i, &total))
			continue;
		rc = record_add(record, g->device, g->meaning, total);
		if (rc == 0)
			rc = fill_rates(g, record);
		if (rc == -ENOMEM)
			return rc;
	}
	return 0;
}

static const char *trouble_of(const struct follow *f)
{
	if (f->useless)
		return NULL;
	if (f->saturated)
		return "the counter stands at its highest value, its total is unknown";
	if (f->gone)
		return "the counter could not be read at the end";
	if (f->reset)
		return "the counter was reset, its total is at least what is shown";
	if (f->late)
		return "the counter could not be read at the begin";
	return NULL;
}

bool summary_trouble(const struct summary *s, char *text, size_t size)
{
	for (size_t i = 0; i < s->follow_count; i++) {
		const struct follow *f = &s->follows[i];
		const char *trouble = trouble_of(f);

		if (trouble) {
			snprintf(text, size, "%s %s: %s", f->series->device, f->series->name,
				 trouble);
			return true;
		}
	}
	return false;
}
