/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_fault_parse.c - reading and writing what all parts share (include/) and the fabric
 * (topology/) while calls fail: the answer is the right one, or none and a sentence. A file that is
 * replaced is the old one or the new one.
 */
#include "check.h"
#include "conf.h"
#include "diff.h"
#include "fabric.h"
#include "fault.h"
#include "health.h"
#include "input.h"
#include "jobfield.h"
#include "json.h"
#include "layout.h"
#include "map.h"
#include "model.h"
#include "namemap.h"
#include "partitions.h"
#include "record.h"
#include "slurmconf.h"
#include "tree_conf.h"
#include "wanted.h"
#include "yaml_conf.h"

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

/* Of one recorded file. */
static void discover(const char *recorded)
{
	size_t len;
	char *bytes = test_data(recorded, &len), *text = NULL;
	struct notes notes = { .kept = 0 };
	struct fabric *f = NULL;
	struct subnet *s = NULL;
	struct err err = { "" };
	struct input *in;

	fault_on();
	in = input_new(NULL);
	if (in && input_add(in, bytes, len, "recorded", &err) == 0)
		s = input_finish(in, &err);
	else
		input_free(in);
	if (s)
		f = model_build(s, "file", "recorded", 1, NULL, &notes, &err);
	text = f ? fabric_text(f) : NULL;
	fault_off();
	check(text, f || !in ? &no_memory : &err);
	fabric_free(f);
	subnet_free(s);
	notes_clear(&notes);
	free(bytes);
}

static void a_discovery(void)
{
	discover("fuzz/ibnetdiscover/two-hosts");
}

static void a_cache(void)
{
	discover("fuzz/cache/two-hosts");
}

static void neighbours_by_lldp(void)
{
	discover("fuzz/lldp/one-host");
}

static void names_for_guids(void)
{
	size_t len;
	char *bytes = test_data("fuzz/namemap/forms", &len), *text = NULL;
	struct notes notes = { .kept = 0 };
	struct err err = { "" };
	struct namemap *m;

	fault_on();
	m = namemap_parse(bytes, len, "names", &notes, &err);
	fault_off();
	if (m)
		text = io_format("%s, %s, %zu", namemap_find(m, UINT64_C(0x0008f10400411f56)),
				 namemap_find(m, UINT64_C(0xb83fd20300100002)), notes.total);
	check(text, &err);
	namemap_free(m);
	notes_clear(&notes);
	free(bytes);
}

static void partitions_of_opensm(void)
{
	size_t len;
	char *bytes = test_data("fuzz/partitions/two", &len), *text = NULL;
	struct err err = { "" };
	struct partitions *p;

	fault_on();
	p = partitions_parse(bytes, len, "partitions.conf", &err);
	fault_off();
	if (p)
		text = io_format("%d", partitions_hold(p, UINT64_C(0xb83fd20300100002), "compute"));
	check(text, &err);
	partitions_free(p);
	free(bytes);
}

/* ---- topology files ---- */

/* All that is said of a file, and the file. NULL: no memory. */
static char *tell(const struct findings *said, char *file)
{
	struct io_text out = { 0 };

	for (size_t i = 0; i < said->count; i++)
		io_add(&out, "%zu: %s\n", said->all[i].line, said->all[i].text);
	io_add(&out, "%s", file);
	free(file);
	return io_end(&out);
}

/* Read, checked, compared with a file of that kind which is empty, and written. */
static void read_layout(const char *name,
			int (*parse)(const char *, size_t, struct layout *, struct findings *))
{
	static const struct check_options options = { 2605, NULL, NULL, NULL };
	size_t len;
	char *bytes = test_data(name, &len), *text = NULL;
	struct layout l = { .count = 0 }, none = { .count = 0 };
	struct findings findings = { .count = 0 }, changes = { .count = 0 };
	bool restart;
	int rc;

	fault_on();
	rc = parse(bytes, len, &l, &findings);
	none.yaml = l.yaml;
	if (rc == 0)
		rc = layout_check(&l, &options, &findings);
	if (rc == 0)
		rc = layout_diff(&none, &l, &changes, &restart);
	if (rc == 0)
		text = l.yaml ? yaml_conf_text(&l, "# c\n")
			      : layout_text(&l.topologies[0], "# c\n");
	fault_off();
	must(rc == 0 || rc == -ENOMEM);
	check(text ? tell(&findings, text) : NULL, &no_memory);
	findings_clear(&findings);
	findings_clear(&changes);
	layout_clear(&l);
	free(bytes);
}

static void a_topology_conf_is_read(void)
{
	read_layout("fuzz/layout/tree", layout_parse);
}

static void blocks_are_read(void)
{
	read_layout("fuzz/layout/blocks", layout_parse);
}

static void a_topology_yaml_is_read(void)
{
	read_layout("fuzz/layout/yaml", layout_parse_yaml);
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
		      : tree_conf_text(f, nodes.nodes, nodes.count, false, "test", "fabric.json",
				       &report, &err);
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
		FAULT_WORK(configuration),
		FAULT_WORK(slurms_configuration),
		FAULT_WORK(a_fabric),
		FAULT_WORK(groups_of_a_fabric),
		FAULT_WORK(a_health_file),
		FAULT_WORK(a_map),
		FAULT_WORK(an_env_file),
		FAULT_WORK(a_record),
		FAULT_WORK(a_large_record),
		FAULT_WORK(a_job_field),
		FAULT_WORK(a_file_is_replaced),
		FAULT_WORK(a_file_is_read),
		FAULT_WORK(a_fabric_is_saved),
		FAULT_WORK(a_discovery),
		FAULT_WORK(a_topology_conf),
		FAULT_WORK(a_cache),
		FAULT_WORK(neighbours_by_lldp),
		FAULT_WORK(names_for_guids),
		FAULT_WORK(partitions_of_opensm),
		FAULT_WORK(a_topology_conf_is_read),
		FAULT_WORK(blocks_are_read),
		FAULT_WORK(a_topology_yaml_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
