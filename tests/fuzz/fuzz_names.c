/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_names.c - names out of node descriptions: each is a word that is safe in topology.conf.
 */
#include "fuzz.h"
#include "names.h"
#include "notes.h"
#include "text.h"

static void check(const char *name)
{
	must(!name[0] || name_valid(name, FABRIC_NAME_MAX));
}

static void run(const char *data, size_t len)
{
	char *text = fuzz_text(data, len), *lines[4], host[NAME_ROOM], device[NAME_ROOM];
	struct notes notes = { 0 };
	size_t count = fuzz_cut(text, lines, 4);

	for (size_t i = 0; i < count; i++) {
		if (names_host(lines[i], host, device))
			must(host[0]);
		check(host);
		check(device);
		names_switch(lines[i], host);
		check(host);
		names_chassis(lines[i], host);
		check(host);
		names_appliance(lines[i]);
		names_manager(lines[i]);
		notes_add(&notes, "%s", lines[i]);
	}
	names_common((const char *const *)lines, count, host);
	check(host);
	must(notes.total == count);
	notes_clear(&notes);
	free(text);
}

const struct fuzz_target fuzz_names = { "names", "", run };
