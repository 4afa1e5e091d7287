/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_fault_parse.c - reading and writing what all parts share (include/) and the fabric
 * (topology/) while calls fail: the answer is the right one, or none and a sentence. A file that is
 * replaced is the old one or the new one.
 */
#include "conf.h"
#include "fabric.h"
#include "fault.h"
#include "health.h"
#include "input.h"
#include "jobfield.h"
#include "json.h"
#include "map.h"
#include "model.h"
#include "record.h"
#include "slurmconf.h"
#include "tree_conf.h"
#include "wanted.h"

/* What came out, NULL for nothing, is what comes out when nothing fails. Taken over. */
static void check(char *text, const struct err *err)
{
	static char *expected;

	if (!text) {
		must_explain(err);
		return;
	}
	fault_same(text, &expected);
}

/* For a writer, which has no sentence: there is no memory. */
static const struct err no_memory = { "out of memory" };

static char *in_folder(const char *name)
{
	return io_format("%s/%s", fault_folder(), name);
}

static void put(const char *path, const char *text)
{
	must(io_write_atomic(path, text, strlen(text), 0600, NULL) == 0);
}

/* ---- configuration ---- */

static char *describe(const struct conf *c)
{
	json_object *o = json_object_new_object(), *array = json_object_new_array();
	char *text;

	json_put_string(o, "cluster", c->cluster);
	json_put_string(o, "fabric_json", c->fabric_json);
	json_put_string(o, "spool_dir", c->spool_dir);
	json_put_int(o, "sample", c->sample_ns);
	json_put_u64(o, "spool_max", c->spool_max);
	for (size_t i = 0; i < c->server_count; i++)
		json_append(array, json_object_new_string(c->servers[i]));
	for (size_t i = 0; i < c->port_deny_count; i++)
		json_append(array, json_object_new_string(c->port_deny[i]));
	for (size_t i = 0; i < c->class_count; i++) {
		json_append(array, json_object_new_string(c->classes[i].name));
		json_append(array, json_object_new_int64(c->classes[i].wait_ns));
	}
	json_put_value(o, "lists", array);
	text = json_line(o);
	json_object_put(o);
	return text;
}

static void configuration(void)
{
	char *path = in_folder("fabric.conf"), *slurm = in_folder("slurm.conf"), *text;
	struct err err = { "" };
	struct conf *c;

	text = io_format("slurm_conf = \"%s\"\nstate_dir = \"/x\"\nport_deny = {\"a\", \"b\"}\n"
			 "class \"compact\" { wait = \"10m\" }\nclass \"wide\" {}\n",
			 slurm);
	put(path, text);
	free(text);
	put(slurm, "ClusterName=c1\nSlurmctldHost=a(1.2.3.4)\nSlurmctldHost=b\n");
	fault_on();
	c = conf_load(path, false, &err);
	fault_off();
	if (!c || c->server_count || fault_hit_memory())
		check(c ? describe(c) : NULL, &err);
	else
		must(fault_hit()); /* where no slurm.conf can be read there are none */
	conf_free(c);
	free(path);
	free(slurm);
}

static void slurms_configuration(void)
{
	char *path = in_folder("slurm.conf");
	struct err err = { "" };
	struct slurmconf s;
	int rc;

	put(path, "ClusterName=C1\nSlurmctldHost=a(1.2.3.4)\nSlurmctldHost=b\n");
	fault_on();
	rc = slurmconf_load(path, &s, &err);
	fault_off();
	check(rc < 0 ? NULL
		     : io_format("%s %s %zu", s.cluster, s.host_count ? s.hosts[0] : "-",
				 s.host_count),
	      &err);
	slurmconf_clear(&s);
	free(path);
}

/* ---- JSON contracts ---- */

static void a_fabric(void)
{
	size_t len;
	char *json = test_data("fuzz/fabric/two-hosts", &len), *text;
	struct err err = { "" };
	struct fabric *f;

	fault_on();
	f = fabric_parse(json, len, "fabric.json", &err);
	text = f ? fabric_text(f) : NULL;
	fault_off();
	check(text, f ? &no_memory : &err);
	fabric_free(f);
	free(json);
}

static void groups_of_a_fabric(void)
{
	size_t len, count = 0;
	char *json = test_data("fuzz/fabric/two-hosts", &len);
	struct fabric_unit_size *sizes;
	struct err err = { "" };
	struct fabric *f;

	fault_on();
	f = fabric_parse_groups(json, len, "fabric.json", &err);
	sizes = f ? fabric_unit_sizes(f, &count) : NULL;
	fault_off();
	must(!f || f->host_count == 2);
	check(sizes ? io_format("%zu %u", count, sizes[0].hosts) : NULL, f ? &no_memory : &err);
	free(sizes);
	fabric_free(f);
	free(json);
}

static void a_health_file(void)
{
	size_t len;
	char *json = test_data("contract/health.json", &len), *text;
	struct err err = { "" };
	struct health *h;

	fault_on();
	h = health_parse(json, len, "health.json", &err);
	text = h ? health_text(h) : NULL;
	fault_off();
	check(text, h ? &no_memory : &err);
	health_free(h);
	free(json);
}

static void a_map(void)
{
	size_t len, differ;
	char *json = test_data("fuzz/map/one-gpu", &len), *text = NULL;
	struct fabric_switch sw = { .guid = 1, .name = (char *)"s1" };
	struct fabric_port port = { .guid = 0x11, .sw = 0, .sw_port = 1 };
	struct fabric f = { .switches = &sw, .switch_count = 1, .ports = &port, .port_count = 1 };
	struct err err = { "" };
	struct map *m;

	fault_on();
	m = map_parse(json, len, "map.json", &err);
	if (m && map_join_fabric(m, &f, &differ) == 0)
		text = map_text(m);
	fault_off();
	check(text, m ? &no_memory : &err);
	map_free(m);
	free(json);
}

static void an_env_file(void)
{
	size_t len;
	char *json = test_data("contract/map.json", &len), *text;
	struct map *m = map_parse(json, len, "map.json", NULL);

	must(m != NULL);
	fault_on();
	text = map_env_text(m);
	fault_off();
	check(text, &no_memory);
	map_free(m);
	free(json);
}

static void a_record(void)
{
	size_t len;
	char *json = test_data("fuzz/record/small", &len), *line;
	struct err err = { "" };
	struct record *r;

	fault_on();
	r = record_parse(json, len, "record.json", &err);
	line = r ? record_line(r) : NULL;
	fault_off();
	check(line, r ? &no_memory : &err);
	record_free(r);
	free(json);
}

/* What is cut to fit is what does not fit, not what there was no memory for. */
static void a_large_record(void)
{
	struct record *r = record_new();
	char *line, device[32];

	r->node = strdup("n1");
	memset(r->id, 'a', sizeof(r->id) - 1);
	for (int i = 0; i < 60; i++) {
		snprintf(device, sizeof(device), "mlx5_%d:1", i);
		record_add(r, device, M_RX_BYTES, 1000000000000u + (unsigned)i);
		record_add_rates(r, device, M_RX_BYTES, 1, 2, 3);
	}
	fault_on();
	line = record_line(r);
	fault_off();
	check(line, &no_memory);
	record_free(r);
}

static void a_job_field(void)
{
	static const char before[] = "{\"owner\":\"ops\",\"\\u0066abric\":{\"records\":1}}";
	json_object *ours = json_tokener_parse("{\"version\":1,\"records\":3}"), *found = NULL;
	struct err err = { "" };
	char *text = NULL;
	int rc;

	fault_on();
	rc = jobfield_merge(before, ours, JOBFIELD_FINAL_MAX, &text, &err);
	found = text ? jobfield_extract(text) : NULL;
	fault_off();
	must((rc == 0) == (text != NULL));
	must(rc == 0 || rc == -ENOMEM); /* never: somebody else's */
	must(!found || json_object_equal(found, ours));
	check(text, &err);
	json_object_put(found);
	json_object_put(ours);
}

/* ---- files ---- */

static void check_whole(const char *path, const char *old, const char *new, bool saved)
{
	char *text;
	size_t len;

	must(io_read(path, 1u << 20, &text, &len, NULL) == 0);
	must(!strcmp(text, new) || (!saved && !strcmp(text, old)));
	free(text);
	fault_look();
	must(fault_files("", NULL) == 1); /* and nothing beside it */
}

static void a_file_is_replaced(void)
{
	char *path = in_folder("file");
	struct err err = { "" };
	int rc;

	put(path, "the old text");
	fault_on();
	rc = io_write_atomic(path, "the new one", 11, 0600, &err);
	fault_off();
	if (rc < 0)
		must_explain(&err);
	check_whole(path, "the old text", "the new one", rc == 0);
	free(path);
}

static void a_file_is_read(void)
{
	char *path = in_folder("file"), *whole = malloc(20001), *text = NULL;
	struct err err = { "" };
	size_t len;
	int rc;

	memset(whole, 'x', 20000);
	whole[20000] = '\0';
	put(path, whole);
	fault_on();
	rc = io_read(path, 1u << 20, &text, &len, &err);
	fault_off();
	if (rc < 0)
		must_explain(&err);
	else
		must(len == 20000 && !strcmp(text, whole));
	if (rc == 0)
		free(text);
	free(whole);
	free(path);
}

static void a_fabric_is_saved(void)
{
	size_t len;
	char *path = in_folder("fabric.json"), *json = test_data("fuzz/fabric/two-hosts", &len),
	     *new;
	struct fabric *f = fabric_parse(json, len, "fabric.json", NULL);
	struct err err = { "" };
	bool changed = false;
	int rc;

	put(path, json); /* says the same, but for when it was seen, and less readably */
	f->seen_ns = 7;
	new = fabric_text(f);
	fault_on();
	rc = fabric_save(f, path, &changed, &err);
	fault_off();
	if (rc < 0)
		must_explain(&err);
	check_whole(path, json, new, rc == 0);
	fabric_free(f);
	free(new);
	free(json);
	free(path);
}

/* ---- discovery ---- */

static void a_discovery(void)
{
	size_t len;
	char *topo = test_data("fuzz/ibnetdiscover/two-hosts", &len), *text = NULL;
	struct notes notes = { .kept = 0 };
	struct fabric *f = NULL;
	struct subnet *s = NULL;
	struct err err = { "" };
	struct input *in;

	fault_on();
	in = input_new(NULL);
	if (in && input_add(in, topo, len, "topo", &err) == 0)
		s = input_finish(in, &err);
	else
		input_free(in);
	if (s)
		f = model_build(s, "file", "topo", 1, NULL, &notes, &err);
	text = f ? fabric_text(f) : NULL;
	fault_off();
	check(text, f || !in ? &no_memory : &err);
	fabric_free(f);
	subnet_free(s);
	notes_clear(&notes);
	free(topo);
}

static void a_topology_conf(void)
{
	size_t len;
	char *json = test_data("fuzz/fabric/two-hosts", &len), *text;
	struct fabric *f = fabric_parse(json, len, "fabric.json", NULL);
	struct tree_report report = { .hosts = 0 };
	struct wanted_list nodes;
	struct err err = { "" };
	int rc;

	fault_on();
	rc = wanted_parse(&nodes, "n[1-3]", &err);
	text = rc < 0 ? NULL
		      : tree_conf_text(f, nodes.nodes, nodes.count, false, "test", "fabric.json", &report,
				       &err);
	wanted_clear(&nodes);
	fault_off();
	must(!text || report.unknown_count == 1);
	tree_report_clear(&report);
	check(text, &err);
	fabric_free(f);
	free(json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAULT_WORK(configuration),	FAULT_WORK(slurms_configuration),
		FAULT_WORK(a_fabric),		FAULT_WORK(groups_of_a_fabric),
		FAULT_WORK(a_health_file),	FAULT_WORK(a_map),
		FAULT_WORK(an_env_file),	FAULT_WORK(a_record),
		FAULT_WORK(a_large_record),	FAULT_WORK(a_job_field),
		FAULT_WORK(a_file_is_replaced), FAULT_WORK(a_file_is_read),
		FAULT_WORK(a_fabric_is_saved),	FAULT_WORK(a_discovery),
		FAULT_WORK(a_topology_conf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
