/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_text_forms.c - the small forms that all contracts share: what is read is written and read
 * again, and what is made printable is.
 */
#include "fuzz.h"
#include "text.h"

static void check_forms(const char *text)
{
	char guid_text[GUID_TEXT], step_text[STEP_TEXT];
	uint64_t guid, again, bytes;
	uint32_t step, same;
	int64_t ns;

	if (guid_parse_sysfs(text, &guid))
		must(guid_parse(guid_format(guid, guid_text), &again) && again == guid);
	if (guid_parse(text, &guid))
		must(guid_parse_sysfs(text, &again) && again == guid);
	if (step_parse(text, &step))
		must(step_parse(step_format(step, step_text), &same) && same == step);
	if (interval_parse(text, &ns))
		must(ns >= 0);
	if (u64_parse(text, UINT64_MAX, &bytes))
		must(size_parse(text, &again) && again == bytes);
	if (word_valid(text, 32))
		must(name_valid(text, 32));
}

static void check_printable(const char *text, size_t size)
{
	char *safe = fuzz_have(malloc(size)), *again = fuzz_have(malloc(size));

	text_printable(text, safe, size);
	must(strlen(safe) < size && strlen(safe) <= strlen(text));
	for (const unsigned char *p = (const unsigned char *)safe; *p; p++)
		must(*p >= 0x20 && *p != 0x7f);
	must(fuzz_same(text_printable(safe, again, size), safe));
	free(again);
	free(safe);
}

static void run(const char *data, size_t len)
{
	char *text = fuzz_text(data, len);

	check_forms(text);
	check_printable(text, strlen(text) + 1);
	check_printable(text, 2);
	check_printable(text, 7);
	free(text);
}

const struct fuzz_target fuzz_text_forms = { "text", "contract/packet-step-end.txt", run };
