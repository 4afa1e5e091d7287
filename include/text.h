/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * text.h - the few textual forms that all contracts share: GUIDs, step ids, times in options, and
 * strings from outside made safe for a terminal.
 */
#ifndef FABRIC_TEXT_H
#define FABRIC_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GUID_TEXT 19 /* "0x" + 16 hex digits + NUL */
#define STEP_TEXT 16

/* Slurm's step ids that are no number (slurm.h; equal in 22.05, 24.11 and 26.05). */
#define STEP_ID_EXTERN UINT32_C(0xfffffffc)
#define STEP_ID_BATCH UINT32_C(0xfffffffb)
#define STEP_ID_INTERACTIVE UINT32_C(0xfffffffa)

/* "0x0002c90300a1b2c3". Returns text. */
const char *guid_format(uint64_t guid, char text[GUID_TEXT]);
/* Accepts that form only (exactly 16 hex digits, either case). */
bool guid_parse(const char *text, uint64_t *guid);
/* Accepts the kernel's "0002:c903:00a1:b2c3" as well. */
bool guid_parse_sysfs(const char *text, uint64_t *guid);

/* "0", "17", "batch", "interactive", "extern". Returns text. */
const char *step_format(uint32_t step, char text[STEP_TEXT]);
bool step_parse(const char *text, uint32_t *step);

/* A whole decimal number, nothing before or behind it, at most max. */
bool u64_parse(const char *text, uint64_t max, uint64_t *value);

/* "500ms", "1s", "2m", "1h" to nanoseconds; no sign, no fraction, a unit is needed. */
bool interval_parse(const char *text, int64_t *ns);

/* "256M", "1G", "4096" (powers of 1024) to bytes. */
bool size_parse(const char *text, uint64_t *bytes);

/*
 * A word of options, classes and marks: 1 to max characters of [a-z0-9-] (word) or
 * [A-Za-z0-9_.-] (name).
 */
bool word_valid(const char *text, size_t max);
bool name_valid(const char *text, size_t max);

/* The length of the valid UTF-8 character at text (RFC 3629), which is *code; 0: there is none. */
size_t utf8_at(const char *text, uint32_t *code);
/* May code be shown as it is: does it neither move a terminal nor reorder what a person reads? */
bool code_printable(uint32_t code);

/*
 * Copies text to out (size bytes, always terminated) with every byte that could move a terminal,
 * and every byte that is no valid UTF-8, replaced by '?'. Returns out.
 */
char *text_printable(const char *text, char *out, size_t size);

#endif
