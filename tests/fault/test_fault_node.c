/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_fault_node.c - what sfabricd reads of its node while calls fail: series are found all or are
 * looked for again, a pass has right values or unknown ones, a map is the right one or none.
 */
#include <sys/eventfd.h>

#include "choose.h"
#include "fault.h"
#include "machine.h"
#include "map.h"
#include "sampler.h"
#include "source.h"

/* ---- sources ---- */

static char *describe(const struct source_list *list)
{
	struct io_text text = { 0 };

	for (size_t i = 0; i < list->count; i++)
		for (size_t k = 0; k < list->files[i]->count; k++) {
			const struct series *s = &list->files[i]->series[k];

			io_add(&text, "%s %s %d %d %d\n", s->device, s->name, (int)s->meaning,
			       s->width, (int)s->behaviour);
		}
	return io_end(&text);
}

static void check(char *text)
{
	static char *expected;

	fault_same(text, &expected);
}

static void discover(const struct source *source, const char *tree)
{
	struct source_list list = { NULL, 0 };
	char *root = io_format("%s/source/%s", TEST_DATA, tree);
	int rc;

	fault_on();
	rc = source->discover(root, &list);
	fault_off();
	must(rc == 0 || fault_hit());
	if (rc == 0 && (!fault_hit() || fault_hit_memory())) /* else a broken port is left out */
		check(describe(&list));
	source_list_free(&list);
	free(root);
}

static void ports_are_found(void)
{
	discover(&source_infiniband, "ib");
}

static void disks_are_found(void)
{
	discover(&source_diskstats, "disk");
}

static void pressure_is_found(void)
{
	discover(&source_pressure, "disk");
}

/* ---- the sampler ---- */

/* For three seconds or, once a call has failed, no time at all. */
static struct sampler_pass *wait_for_pass(struct sampler *s)
{
	struct sampler_pass *pass = NULL;

	for (int i = 0; i < 3000 && !(pass = sampler_take(s)); i += fault_hit() ? 100 : 1)
		usleep(1000);
	return pass;
}

/* What is valid is what the files hold. */
static size_t check_values(const struct sampler_pass *pass)
{
	size_t valid = 0;

	for (size_t i = 0; pass->series && i < pass->series->count; i++) {
		const struct series *s = pass->series->list[i];

		if (!pass->valid[i])
			continue;
		valid++;
		if (!strcmp(s->name, "sectors_read") && !strcmp(s->device, "sda"))
			must(pass->values[i] == 1000);
	}
	return valid;
}

static void a_pass_is_taken(void)
{
	struct sampler_pass *pass = NULL;
	int notify = eventfd(0, EFD_NONBLOCK);
	struct err err = { "" };
	struct sampler *s;
	size_t valid = 0;

	fault_everywhere(true);
	s = sampler_start(TEST_DATA "/source/disk", notify, &err);
	if (s) {
		sampler_watch(s, 1, getpid(), 7, 3);
		sampler_request(s);
		pass = wait_for_pass(s);
	}
	fault_everywhere(false);
	must(s || (fault_hit() && err.text[0]));
	must(!s || pass || fault_hit());
	if (pass)
		valid = check_values(pass);
	must(!s || valid > 0 || fault_hit());
	sampler_pass_free(pass);
	sampler_stop(s);
	close(notify);
}

/* ---- the map ---- */

static void a_map_is_made(void)
{
	const struct choose_filter filter = { 0 };
	char *path = io_format("%s/machine/two-sockets.xml", TEST_DATA), *text = NULL;
	struct map *map = NULL;
	struct err err = { "" };
	struct machine *m;

	fault_on();
	m = machine_read_xml(path, &err);
	if (m)
		map = choose_map(m, &filter, "n1", &err);
	if (map)
		text = map_text(map);
	fault_off();
	if (text)
		check(text);
	else
		must(fault_hit() && (map || err.text[0]));
	map_free(map);
	machine_free(m);
	free(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAULT_WORK(ports_are_found),   FAULT_WORK(disks_are_found),
		FAULT_WORK(pressure_is_found), FAULT_WORK(a_pass_is_taken),
		FAULT_WORK(a_map_is_made),
	};

	fault_spare("libhwloc"); /* it ends the process, or shows a part of the machine */
	fault_spare("libxml2");
	fault_spare("setenv");		   /* what it was given stays in the environment */
	fault_spare("pthread_getattr_np"); /* AddressSanitizer's, for a new thread */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
