/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * text.c - see text.h. libc only: fabric.so carries it into slurmstepd.
 */
#include "text.h"

#include <stdio.h>
#include <string.h>

const char *guid_format(uint64_t guid, char text[GUID_TEXT])
{
	snprintf(text, GUID_TEXT, "0x%016llx", (unsigned long long)guid);
	return text;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* Sixteen hex digits, a colon after every group-th of them (0: none). Returns what follows. */
static const char *hex16(const char *text, int group, uint64_t *value)
{
	*value = 0;
	for (int i = 0; i < 16; i++) {
		int digit;
		if (group && i && i % group == 0 && *text++ != ':')
			return NULL;
		digit = hex_digit(*text++);
		if (digit < 0)
			return NULL;
		*value = *value << 4 | (uint64_t)digit;
	}
	return text;
}

bool guid_parse(const char *text, uint64_t *guid)
{
	uint64_t value;
	const char *end;

	if (text[0] != '0' || text[1] != 'x')
		return false;
	end = hex16(text + 2, 0, &value);
	if (!end || *end)
		return false;
	*guid = value;
	return true;
}

bool guid_parse_sysfs(const char *text, uint64_t *guid)
{
	uint64_t value;
	const char *end = hex16(text, 4, &value);

	if (!end || *end)
		return guid_parse(text, guid);
	*guid = value;
	return true;
}

static const struct {
	uint32_t id;
	const char *name;
} named_steps[] = {
	{ STEP_ID_BATCH, "batch" },
	{ STEP_ID_INTERACTIVE, "interactive" },
	{ STEP_ID_EXTERN, "extern" },
};

#define NAMED_STEPS (sizeof(named_steps) / sizeof(named_steps[0]))

const char *step_format(uint32_t step, char text[STEP_TEXT])
{
	for (size_t i = 0; i < NAMED_STEPS; i++)
		if (named_steps[i].id == step) {
			snprintf(text, STEP_TEXT, "%s", named_steps[i].name);
			return text;
		}
	snprintf(text, STEP_TEXT, "%u", step);
	return text;
}

bool step_parse(const char *text, uint32_t *step)
{
	uint64_t value;

	for (size_t i = 0; i < NAMED_STEPS; i++)
		if (!strcmp(text, named_steps[i].name)) {
			*step = named_steps[i].id;
			return true;
		}
	if (!u64_parse(text, STEP_ID_INTERACTIVE - 1, &value))
		return false;
	*step = (uint32_t)value;
	return true;
}

/* The digits at *text; moves behind them. */
static bool digits(const char **text, uint64_t max, uint64_t *value)
{
	const char *p = *text;
	uint64_t sum = 0;

	if (*p < '0' || *p > '9')
		return false;
	for (; *p >= '0' && *p <= '9'; p++) {
		uint64_t digit = (uint64_t)(*p - '0');
		if (sum > (max - digit) / 10 || digit > max)
			return false;
		sum = sum * 10 + digit;
	}
	*text = p;
	*value = sum;
	return true;
}

bool u64_parse(const char *text, uint64_t max, uint64_t *value)
{
	uint64_t number;

	if (!digits(&text, max, &number) || *text)
		return false;
	*value = number;
	return true;
}

struct unit {
	const char *name;
	uint64_t factor;
};

static bool with_unit(const char *text, const struct unit *units, size_t count, uint64_t max,
		      uint64_t *value)
{
	uint64_t number;

	if (!digits(&text, max, &number))
		return false;
	for (size_t i = 0; i < count; i++)
		if (!strcmp(text, units[i].name)) {
			if (number > max / units[i].factor)
				return false;
			*value = number * units[i].factor;
			return true;
		}
	return false;
}

bool interval_parse(const char *text, int64_t *ns)
{
	static const struct unit units[] = {
		{ "ms", 1000000 },
		{ "s", 1000000000 },
		{ "m", UINT64_C(60) * 1000000000 },
		{ "h", UINT64_C(3600) * 1000000000 },
	};
	uint64_t value;

	if (!with_unit(text, units, sizeof(units) / sizeof(units[0]), INT64_MAX, &value))
		return false;
	*ns = (int64_t)value;
	return true;
}

bool size_parse(const char *text, uint64_t *bytes)
{
	static const struct unit units[] = {
		{ "", 1 }, { "K", 1u << 10 }, { "M", 1u << 20 }, { "G", 1u << 30 },
		{ "T", UINT64_C(1) << 40 },
	};

	return with_unit(text, units, sizeof(units) / sizeof(units[0]), UINT64_MAX, bytes);
}

static bool made_of(const char *text, size_t max, const char *accepted)
{
	size_t len = strnlen(text, max + 1);

	return len > 0 && len <= max && strspn(text, accepted) == len;
}

bool word_valid(const char *text, size_t max)
{
	return made_of(text, max, "abcdefghijklmnopqrstuvwxyz0123456789-");
}

bool name_valid(const char *text, size_t max)
{
	return made_of(text, max,
		       "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-");
}

size_t utf8_at(const char *text, uint32_t *code)
{
	static const uint32_t lowest[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *p = (const unsigned char *)text;
	size_t len = *p < 0x80 ? 1 : *p >= 0xc2 && *p < 0xe0 ? 2 : *p >= 0xe0 && *p < 0xf0 ? 3
		   : *p >= 0xf0 && *p < 0xf5 ? 4 : 0;

	if (len < 2) {
		*code = *p;
		return len;
	}
	*code = *p & (0xffu >> (len + 1));
	for (size_t i = 1; i < len; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		*code = *code << 6 | (p[i] & 0x3fu);
	}
	if (*code < lowest[len] || *code > 0x10ffff || (*code >= 0xd800 && *code < 0xe000))
		return 0;
	return len;
}

bool code_printable(uint32_t code)
{
	static const struct {
		uint32_t first, last;
	} others[] = {
		{ 0, 0x1f }, { 0x7f, 0x9f }, /* controls; C1 move terminals as ESC does */
		{ 0x61c, 0x61c }, { 0x200e, 0x200f }, { 0x2028, 0x202e }, { 0x2066, 0x2069 },
	};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (code >= others[i].first && code <= others[i].last)
			return false;
	return true;
}

char *text_printable(const char *text, char *out, size_t size)
{
	size_t used = 0;
	uint32_t code;

	while (*text && used + 1 < size) {
		size_t len = utf8_at(text, &code);
		if (len == 0 || !code_printable(code)) {
			out[used++] = '?';
			text++;
			continue;
		}
		if (used + len >= size)
			break;
		memcpy(out + used, text, len);
		used += len;
		text += len;
	}
	if (size)
		out[used] = '\0';
	return out;
}
