/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_namemap.c - names for GUIDs in all the forms that are understood: any bytes give pairs, each
 * of which can be asked for, or a sentence.
 */
#include "fuzz.h"
#include "namemap.h"
#include "text.h"

static void run(const char *data, size_t len)
{
	struct notes notes = { 0 };
	struct err err = { "" };
	char *text = fuzz_text(data, len);
	struct namemap *m = namemap_parse(data, len, "fuzz", &notes, &err);
	uint64_t guid;

	must(m || err.text[0]);
	for (const char *word = strtok(text, " \t\n\r:\""); m && word;
	     word = strtok(NULL, " \t\n\r:\"")) {
		const char *name = guid_parse(word, &guid) ? namemap_find(m, guid) : NULL;

		must(!name || name[0]);
	}
	namemap_free(m);
	notes_clear(&notes);
	free(text);
}

const struct fuzz_target fuzz_namemap = { "namemap", "", run };
