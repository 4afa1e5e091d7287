/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * summary.h - from samples to what a record says: totals and rates by device and meaning.
 *
 * Pure: it is fed pass after pass while the step runs, or from a kept timeline, and never looks
 * back, so that a step of a week needs no more memory than one of a minute. It does the arithmetic
 * of counters: wraps, saturation, resets, gaps.
 *
 * Several series of one device with one meaning (the kinds of errors of a port) give one total,
 * their sum. A series that was never readable, or saturated from the begin, is as if it were not
 * there; one that stopped telling on the way makes the total unknown or, where what is missing is
 * small, at least that: then summary_trouble() says so.
 */
#ifndef FABRIC_SUMMARY_H
#define FABRIC_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record.h"
#include "source.h"

struct summary;

/* interval_ns: between samples, 0 for begin and end only. NULL without memory. */
struct summary *summary_new(int64_t interval_ns);
void summary_free(struct summary *s);

/* Appends a series (the series must outlive the summary). 0 or -ENOMEM. */
int summary_add_series(struct summary *s, const struct series *series);
size_t summary_series_count(const struct summary *s);

/*
 * One sample: mono_ns by CLOCK_MONOTONIC, later than the one before; values and valid of the first
 * count series. last: the sample at the step's end, in which every series should have a value.
 */
void summary_pass(struct summary *s, int64_t mono_ns, const uint64_t *values, const bool *valid,
		  size_t count, bool last);

/* Adds totals and rates to the record; 0 or -ENOMEM. */
int summary_fill(const struct summary *s, struct record *record);

/* What keeps the totals from covering the whole step, a sentence for people; false: nothing. */
bool summary_trouble(const struct summary *s, char *text, size_t size);

#endif
