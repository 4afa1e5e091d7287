/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_story.c - a job's story and its field: each folder of tests/data/story holds what is known
 * (in.json) and what must be said of it (job.json, field.json). Then sizes: what does not fit is
 * left out, and says so; and the host-wide facts around it: units, GPU indexes, states.
 *
 * To add a case: a folder with in.json; run with STORY_WRITE=1 once, and read what it wrote.
 */
#include "unit.h"

#include "jobfield.h"
#include "json.h"
#include "packet.h"
#include "slurm_call.h"
#include "story.h"
#include "text.h"

struct input {
	json_object *json;
	struct job_facts *facts;
	struct map **maps;
	struct record **records;
	struct store_begin *begins;
	struct fabric *fabric;
	struct story story;
};

static json_object *array_of(json_object *top, const char *key)
{
	json_object *array = NULL;

	json_object_object_get_ex(top, key, &array);
	return array;
}

static size_t length_of(json_object *array)
{
	return array ? json_object_array_length(array) : 0;
}

static void load_begins(struct input *in, json_object *array)
{
	struct json_reader r = { .source = "begins" };

	in->story.begin_count = length_of(array);
	in->begins = calloc(in->story.begin_count + 1, sizeof(*in->begins));
	for (size_t i = 0; i < in->story.begin_count; i++) {
		json_object *o = json_object_array_get_idx(array, i);
		struct store_begin *b = &in->begins[i];

		b->job = (uint32_t)json_read_int(&r, o, "job", 1, UINT32_MAX);
		assert_true(step_parse(json_read_string(&r, o, "step"), &b->step));
		b->node = json_read_strdup(&r, o, "node");
		b->class = json_read_strdup(&r, o, "class");
		b->node_count = (uint32_t)json_read_int(&r, o, "node_count", 1, UINT32_MAX);
		assert_int_equal(r.rc, 0);
	}
}

static void load_fabric(struct input *in)
{
	struct err err = { "" };
	json_object *o = array_of(in->json, "fabric");
	char *text;

	if (!o)
		return;
	text = json_text(o);
	in->fabric = fabric_parse(text, strlen(text), "fabric", &err);
	if (!in->fabric)
		fail_msg("%s", err.text);
	free(text);
}

static void load_maps(struct input *in, json_object *array)
{
	struct err err = { "" };
	size_t differ = 0;

	in->story.map_count = length_of(array);
	in->maps = calloc(in->story.map_count + 1, sizeof(*in->maps));
	for (size_t i = 0; i < in->story.map_count; i++) {
		in->maps[i] = map_from_json(json_object_array_get_idx(array, i), "map", &err);
		if (!in->maps[i])
			fail_msg("%s", err.text);
		if (in->fabric)
			assert_int_equal(map_join_fabric(in->maps[i], in->fabric, &differ), 0);
	}
}

static void load_records(struct input *in, json_object *array)
{
	struct err err = { "" };

	in->story.record_count = length_of(array);
	in->records = calloc(in->story.record_count + 1, sizeof(*in->records));
	for (size_t i = 0; i < in->story.record_count; i++) {
		in->records[i] =
			record_from_json(json_object_array_get_idx(array, i), "record", &err);
		if (!in->records[i])
			fail_msg("%s", err.text);
	}
}

/* The first count records, last one first: order must not matter. */
static struct tally *tally_of(struct record *const *records, size_t count)
{
	struct tally *t = tally_new();

	assert_non_null(t);
	while (count > 0)
		assert_int_equal(tally_add(t, records[--count]), 0);
	return t;
}

static void load(struct input *in, const char *name)
{
	char *path = io_format("%s/story/%s/in.json", TEST_DATA, name);
	struct json_reader r = { .source = name };
	struct err err = { "" };

	memset(in, 0, sizeof(*in));
	in->json = json_load(path, 16u << 20, &err);
	if (!in->json)
		fail_msg("%s", err.text);
	free(path);
	in->story.job = (uint32_t)json_read_int(&r, in->json, "job", 1, UINT32_MAX);
	in->story.now_ns = json_read_int(&r, in->json, "now_s", 0, INT32_MAX * 4LL) * 1000000000;
	if (json_has(in->json, "facts")) {
		in->facts = job_facts_from_json(array_of(in->json, "facts"), &err);
		if (!in->facts)
			fail_msg("%s", err.text);
	}
	load_fabric(in);
	load_maps(in, array_of(in->json, "maps"));
	load_records(in, array_of(in->json, "records"));
	load_begins(in, array_of(in->json, "begins"));
	in->story.facts = in->facts;
	in->story.maps = in->maps;
	in->story.records = in->records;
	in->story.tally = tally_of(in->records, in->story.record_count);
	in->story.begins = in->begins;
	in->story.fabric = in->fabric;
	in->story.one_node = json_has(in->json, "one_node");
}

static void unload(struct input *in)
{
	for (size_t i = 0; i < in->story.map_count; i++)
		map_free(in->maps[i]);
	for (size_t i = 0; i < in->story.record_count; i++)
		record_free(in->records[i]);
	for (size_t i = 0; i < in->story.begin_count; i++)
		store_begin_clear(&in->begins[i]);
	tally_free(in->story.tally);
	free(in->maps);
	free(in->records);
	free(in->begins);
	fabric_free(in->fabric);
	job_facts_free(in->facts);
	json_object_put(in->json);
}

static void expect(const char *name, const char *file, json_object *value)
{
	char *text, *want, *path = io_format("%s/story/%s/%s", TEST_DATA, name, file);
	char *short_path = io_format("story/%s/%s", name, file);
	json_object *wanted;
	size_t len;

	assert_non_null(value);
	text = json_text(value);
	if (getenv("STORY_WRITE"))
		assert_int_equal(io_write_atomic(path, text, strlen(text), 0644, NULL), 0);
	want = test_data(short_path, &len);
	wanted = json_parse(want, len, short_path, NULL);
	free(want);
	want = json_text(wanted); /* releases of json-c differ in how they write what is empty */
	assert_string_equal(text, want);
	json_object_put(wanted);
	free(want);
	free(text);
	free(path);
	free(short_path);
	json_object_put(value);
}

static void every_case_says_what_it_must(void **state)
{
	static const char *const names[] = { "two-units", "missing-node", "no-slurm",
					     "running",	  "all-bad",	  "one-node" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct input in;

		load(&in, names[i]);
		expect(names[i], "job.json", story_json(&in.story, STORY_MAX_BYTES));
		expect(names[i], "field.json", story_field(&in.story, JOBFIELD_FINAL_MAX));
		unload(&in);
	}
}

static void golden_field_is_canonical_and_ours(void **state)
{
	struct err err = { "" };
	size_t len, len2;
	char *golden = test_data("contract/jobfield.json", &len), *again;
	char *ours = test_data("story/two-units/field.json", &len2);
	json_object *value = json_parse(golden, len, "jobfield.json", &err), *extracted;
	char *field = NULL;

	(void)state;
	assert_non_null(value);
	again = json_text(value);
	assert_string_equal(again, golden);
	assert_string_equal(ours, golden);
	assert_int_equal(
		jobfield_merge("{\"site\":{\"a\":1}}", value, JOBFIELD_FINAL_MAX, &field, &err), 0);
	assert_non_null(strstr(field, "\"site\":{\"a\":1}"));
	extracted = jobfield_extract(field);
	assert_true(json_object_equal(extracted, value));
	json_object_put(extracted);
	json_object_put(value);
	free(field);
	free(again);
	free(golden);
	free(ours);
}

static const char *string_in(json_object *o, const char *key)
{
	json_object *value = NULL;

	return json_object_object_get_ex(o, key, &value) ? json_object_get_string(value) : NULL;
}

static void the_bad_port_is_named_with_its_switch(void **state)
{
	struct input in;
	json_object *story, *suspects, *s;

	(void)state;
	load(&in, "two-units");
	story = story_json(&in.story, STORY_MAX_BYTES);
	suspects = array_of(json_object_array_get_idx(array_of(story, "steps"), 1), "suspects");
	assert_int_equal(length_of(suspects), 1);
	s = json_object_array_get_idx(suspects, 0);
	assert_string_equal(string_in(s, "node"), "n3");
	assert_string_equal(string_in(s, "device"), "mlx5_1:1");
	assert_string_equal(string_in(s, "switch"), "leaf-u2-r1");
	assert_string_equal(string_in(s, "switch_port"), "1");
	assert_string_equal(string_in(s, "retransmits"), "5120");
	json_object_put(story);
	unload(&in);
}

/* All steps that this node knows of have reported; those of the job's other node are not known. */
static void one_node_is_not_all(void **state)
{
	struct input in;

	(void)state;
	load(&in, "one-node");
	assert_false(story_complete(&in.story));
	assert_int_equal(story_state(&in.story), STORY_PARTIAL);
	in.story.one_node = false;
	assert_true(story_complete(&in.story));
	in.story.one_node = true;
	in.story.now_ns = (in.facts->end_s + STORY_FINAL_AFTER_S) * INT64_C(1000000000);
	assert_int_equal(story_state(&in.story), STORY_FINAL);
	unload(&in);
}

static void states_follow_slurm_and_the_reports(void **state)
{
	struct input in;

	(void)state;
	load(&in, "missing-node");
	assert_false(story_complete(&in.story));
	assert_int_equal(story_state(&in.story), STORY_PARTIAL);
	in.story.now_ns = (in.facts->end_s + STORY_FINAL_AFTER_S) * INT64_C(1000000000);
	assert_int_equal(story_state(&in.story), STORY_FINAL);
	in.facts->ended = false;
	assert_int_equal(story_state(&in.story), STORY_RUNNING);
	unload(&in);
	load(&in, "two-units");
	assert_true(story_complete(&in.story));
	assert_int_equal(story_state(&in.story), STORY_FINAL);
	tally_free(in.story.tally);
	in.story.tally = tally_of(in.records, in.story.record_count - 1);
	assert_int_equal(story_state(&in.story), STORY_PARTIAL);
	/* Slurm does not know when it ended: ten minutes from the last message */
	in.facts->end_s = 0;
	in.story.last_ns = in.story.now_ns - INT64_C(1000000000);
	assert_int_equal(story_state(&in.story), STORY_PARTIAL);
	in.story.last_ns = in.story.now_ns - STORY_FINAL_AFTER_S * INT64_C(1000000000);
	assert_int_equal(story_state(&in.story), STORY_FINAL);
	unload(&in);
}

/* Every limit from nothing to everything: it fits, or it is the smallest there is; and it says so.
 */
static void what_does_not_fit_is_left_out(void **state)
{
	struct input in;
	size_t smallest = SIZE_MAX;

	(void)state;
	load(&in, "two-units");
	for (size_t max = 0; max < 4000; max += 7) {
		json_object *field = story_field(&in.story, max);
		char *text = json_line(field);
		size_t len = strlen(text);

		if (len > max) /* only the last level may be longer */
			assert_true(len < 200 && strstr(text, "\"cut\":true"));
		if (len < smallest)
			smallest = len;
		free(text);
		json_object_put(field);
	}
	assert_true(smallest < 200);
	unload(&in);
}

/* ---- sizes at scale, made here ---- */

static struct map *make_map(const char *host, int unit, int rails)
{
	struct map *m = calloc(1, sizeof(*m));

	m->host = strdup(host);
	m->gpu_count = m->port_count = (size_t)rails;
	m->gpus = calloc(m->gpu_count, sizeof(*m->gpus));
	m->ports = calloc(m->port_count, sizeof(*m->ports));
	for (int r = 0; r < rails; r++) {
		m->ports[r] = (struct map_port){ .device = io_format("mlx5_%d", r),
						 .port = 1,
						 .numa = -1,
						 .guid = (uint64_t)(unit * 1000 + r + 1) };
		m->ports[r].leaf =
			(struct map_leaf){ .source = LEAF_FABRIC,
					   .port = 1,
					   .rail = r,
					   .guid = UINT64_C(0x0002c90300000000) +
						   (unsigned)(unit * 64 + r),
					   .name = io_format("leaf-%02d-rail%d", unit, r) };
		m->gpus[r] = (struct map_gpu){ .index = r,
					       .gres = r,
					       .minor = r,
					       .numa = -1,
					       .near_count = 1,
					       .near = calloc(1, sizeof(struct map_near)),
					       .bdf = io_format("0000:%02x:00.0", r),
					       .reason = strdup("test") };
		m->gpus[r].near[0] = (struct map_near){ (size_t)r, MAP_PIX, 1 };
	}
	return m;
}

static struct job_facts *make_facts(size_t hosts, bool running)
{
	struct job_facts *f = calloc(1, sizeof(*f));

	f->job = 7;
	f->state = strdup(running ? "RUNNING" : "COMPLETED");
	f->running = running;
	f->ended = !running;
	f->restarts = -1;
	f->hosts = calloc(hosts, sizeof(*f->hosts));
	f->gpus = calloc(hosts, sizeof(*f->gpus));
	f->host_count = hosts;
	for (size_t i = 0; i < hosts; i++) {
		f->hosts[i] = io_format("node%04zu", i);
		assert_int_equal(job_gpus_parse("gpu:8(IDX:0-7)", &f->gpus[i]), 0);
	}
	return f;
}

static struct record *make_record(const char *node, uint32_t step, uint32_t count)
{
	struct record *r = record_new();

	snprintf(r->id, sizeof(r->id), "%032x", step);
	r->node = strdup(node);
	r->job = 7;
	r->step = step;
	r->node_count = count;
	r->elapsed_ns = 1000000000;
	for (int m = 0; m < M_CPU_US; m++)
		record_add(r, m <= M_CONGESTION ? "mlx5_0:1" : "nvme0n1", (enum meaning)m,
			   UINT64_MAX / 4);
	return r;
}

static size_t field_length(const struct story *s, size_t max)
{
	json_object *field = story_field(s, max);
	char *text = json_line(field);
	size_t len = strlen(text);

	free(text);
	json_object_put(field);
	return len;
}

static void tag_of_four_nodes_fits_with_rails(void **state)
{
	struct job_facts *f = make_facts(4, true);
	struct map *maps[4];
	struct story s = { .job = 7, .facts = f, .maps = maps, .map_count = 4 };
	json_object *field;
	char *text;

	(void)state;
	for (int i = 0; i < 4; i++)
		maps[i] = make_map(f->hosts[i], i / 2, 8);
	field = story_field(&s, JOBFIELD_RUNNING_MAX);
	text = json_line(field);
	assert_true(strlen(text) <= JOBFIELD_RUNNING_MAX);
	assert_non_null(strstr(text, "\"leaf-01-rail7\":\"node[0002-0003]\""));
	assert_non_null(strstr(
		text,
		"\"map\":[{\"nodes\":\"node[0000-0003]\",\"gpus\":{\"0\":[\"PIX\",\"mlx5_0:1\"]"));
	free(text);
	json_object_put(field);
	for (int i = 0; i < 4; i++)
		map_free(maps[i]);
	job_facts_free(f);
}

static void field_is_bounded_for_any_job(void **state)
{
	enum { HOSTS = 600, STEPS = 300 };
	struct job_facts *f = make_facts(HOSTS, false);
	struct map **maps = calloc(HOSTS, sizeof(struct map *));
	struct record **records = calloc(STEPS, sizeof(struct record *));
	struct story s = { .job = 7,
			   .facts = f,
			   .maps = maps,
			   .map_count = HOSTS,
			   .records = records,
			   .record_count = STEPS };
	json_object *story;
	char *text;

	(void)state;
	for (int i = 0; i < HOSTS; i++)
		maps[i] = make_map(f->hosts[i], i % 7, 8);
	for (uint32_t i = 0; i < STEPS; i++)
		records[i] = make_record(f->hosts[i], i, 1);
	s.tally = tally_of(records, STEPS);
	assert_true(field_length(&s, JOBFIELD_FINAL_MAX) <= JOBFIELD_FINAL_MAX);
	assert_true(field_length(&s, JOBFIELD_RUNNING_MAX) <= JOBFIELD_RUNNING_MAX);
	story = story_json(&s, STORY_MAX_BYTES);
	text = json_line(story);
	assert_true(strlen(text) <= STORY_MAX_BYTES);
	free(text);
	json_object_put(story);
	for (int i = 0; i < HOSTS; i++)
		map_free(maps[i]);
	for (int i = 0; i < STEPS; i++)
		record_free(records[i]);
	tally_free(s.tally);
	free(maps);
	free(records);
	job_facts_free(f);
}

/*
 * 4 096 nodes and 50 steps of which half of the nodes have odd names and no map is like another:
 * the field keeps its bounds, the numbers are those of all records, and the records are not kept.
 */
static void a_job_of_the_whole_cluster_fits(void **state)
{
	enum { HOSTS = 4096, STEPS = 50, MAPS = 512 };
	struct job_facts *f = make_facts(HOSTS, false);
	struct map **maps = calloc(MAPS, sizeof(struct map *));
	struct story s = { .job = 7,
			   .facts = f,
			   .maps = maps,
			   .map_count = MAPS,
			   .tally = tally_new(),
			   .records_left_out = true };
	json_object *story, *step, *totals;
	char *text;

	(void)state;
	for (int i = 0; i < HOSTS; i += 2) {
		free(f->hosts[i]);
		f->hosts[i] = io_format("odd-%d-x%d", i * 7919 % HOSTS, i);
	}
	for (int i = 0; i < MAPS; i++)
		maps[i] = make_map(f->hosts[i], i, 1 + i % 8);
	for (uint32_t step_id = 0; step_id < STEPS; step_id++)
		for (int i = 0; i < HOSTS; i++) {
			struct record *r = record_new();

			r->node = strdup(f->hosts[i]);
			r->step = step_id;
			r->node_count = HOSTS;
			record_add(r, "mlx5_0:1", M_RX_BYTES, UINT64_C(1) << 32);
			record_add(r, "mlx5_0:1", M_RETRANSMITS, i == 77 ? 5000 : 1);
			assert_int_equal(tally_add(s.tally, r), 0);
			record_free(r);
		}
	assert_true(story_complete(&s));
	assert_true(field_length(&s, JOBFIELD_FINAL_MAX) <= JOBFIELD_FINAL_MAX);
	assert_true(field_length(&s, JOBFIELD_RUNNING_MAX) <= JOBFIELD_RUNNING_MAX);
	story = story_json(&s, STORY_MAX_BYTES);
	text = json_line(story);
	assert_true(strlen(text) <= STORY_MAX_BYTES);
	step = json_object_array_get_idx(array_of(story, "steps"), 49);
	totals = array_of(step, "totals");
	assert_string_equal(string_in(step, "reported"), "4096");
	assert_string_equal(string_in(totals, "rx_bytes"), "17592186044416");
	assert_string_equal(string_in(totals, "retransmits"), "9095");
	assert_int_equal(length_of(array_of(step, "suspects")), 1);
	free(text);
	json_object_put(story);
	for (int i = 0; i < MAPS; i++)
		map_free(maps[i]);
	tally_free(s.tally);
	free(maps);
	job_facts_free(f);
}

/* A sum that no number holds is not known; one that some records do not know is a least. */
static void sums_say_what_they_stand_on(void **state)
{
	struct record *records[3] = { make_record("n1", 0, 3), make_record("n2", 0, 3),
				      record_new() };
	struct story s = { .job = 7 };
	json_object *story, *step;
	size_t named = 0;

	(void)state;
	records[2]->node = strdup("n3");
	records[2]->node_count = 3;
	record_add(records[0], "mlx5_0:1", M_RX_BYTES, UINT64_MAX - 5);
	record_add(records[1], "mlx5_0:1", M_RX_BYTES, 6);
	record_add(records[0], "mlx5_0:1", M_TX_BYTES, 100);
	record_add(records[1], "mlx5_0:1", M_TX_BYTES, 1);
	for (int m = 0; m < M_CPU_US; m++)
		record_add(records[2], "mlx5_0:1", (enum meaning)m, 0);
	record_add(records[0], "node", M_CPU_US, 5);
	s.tally = tally_of(records, 3);
	story = story_json(&s, STORY_MAX_BYTES);
	step = json_object_array_get_idx(array_of(story, "steps"), 0);
	assert_null(string_in(array_of(step, "totals"), "rx_bytes"));
	assert_string_equal(string_in(array_of(step, "totals"), "tx_bytes"), "101");
	assert_string_equal(string_in(array_of(step, "totals"), "cpu_us"), "5");
	assert_string_equal(string_in(array_of(step, "unknown_on"), "cpu_us"), "2");
	json_object_object_foreach(array_of(step, "unknown_on"), key, value)
	{
		(void)key;
		(void)value;
		named++;
	}
	assert_int_equal(named, 1);
	json_object_put(story);
	tally_free(s.tally);

	/* What sacct shows says it as well; and no 0 of some stands for those who don't know. */
	record_add(records[0], "node", M_STALL_CPU_US, 0);
	records[1]->partial = strdup("sfabricd was restarted");
	s.tally = tally_of(records, 3);
	story = story_field(&s, JOBFIELD_FINAL_MAX);
	step = json_object_array_get_idx(array_of(story, "steps"), 0);
	assert_string_equal(string_in(step, "partial"), "1");
	assert_string_equal(string_in(step, "cpu_us"), "5");
	assert_string_equal(string_in(array_of(step, "unknown_on"), "cpu_us"), "2");
	assert_null(string_in(step, "stall_cpu_us"));
	json_object_put(story);
	tally_free(s.tally);
	for (int i = 0; i < 3; i++)
		record_free(records[i]);
}

/* Two switches of one name on one rail: both are shown, by GUID, and no host is lost. */
static void equal_names_of_switches_do_not_hide_each_other(void **state)
{
	struct job_facts *f = make_facts(2, true);
	struct map *maps[2] = { make_map(f->hosts[0], 0, 1), make_map(f->hosts[1], 1, 1) };
	struct story s = { .job = 7, .facts = f, .maps = maps, .map_count = 2 };
	json_object *field;
	char *text;

	(void)state;
	for (int i = 0; i < 2; i++) {
		free(maps[i]->ports[0].leaf.name);
		maps[i]->ports[0].leaf.name = strdup("Quantum");
	}
	field = story_field(&s, JOBFIELD_RUNNING_MAX);
	text = json_line(field);
	assert_non_null(strstr(text, "{\"0x0002c90300000000\":\"node0000\","
				     "\"0x0002c90300000040\":\"node0001\"}"));
	free(text);
	json_object_put(field);
	map_free(maps[0]);
	map_free(maps[1]);
	job_facts_free(f);
}

/* The class may have been forged on its way, and the field is public. */
static void a_forged_class_is_not_passed_on(void **state)
{
	static const char *const classes[] = { "compact\033[2J", "\xc2\x9b", "a b", "Compact" };
	struct store_begin begin = { .job = 7, .node = (char *)"n1", .node_count = 1 };
	struct story s = { .job = 7, .begins = &begin, .begin_count = 1 };

	(void)state;
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
		json_object *field;

		begin.class = (char *)classes[i];
		field = story_field(&s, JOBFIELD_FINAL_MAX);
		assert_null(string_in(field, "class"));
		json_object_put(field);
	}
}

/* What others wrote stays as it was, byte for byte; only our key changes. */
static void foreign_content_stays_as_it_is(void **state)
{
	static const char *const cases[][2] = {
		{ NULL, "{\"fabric\":{\"v\":1}}" },
		{ " \n", "{\"fabric\":{\"v\":1}}" },
		{ "{}", "{\"fabric\":{\"v\":1}}" },
		{ " { } ", " { \"fabric\":{\"v\":1}} " },
		{ "{\"id\":18446744073709551615,\"x\":1.10}",
		  "{\"id\":18446744073709551615,\"x\":1.10,\"fabric\":{\"v\":1}}" },
		{ "{\"a\" : [ 1, {\"fabric\":2}, \"}]\\\"\" ], \"a\":null }",
		  "{\"a\" : [ 1, {\"fabric\":2}, \"}]\\\"\" ], \"a\":null ,\"fabric\":{\"v\":1}}" },
		{ "{\"fabric\" : {\"old\":[1,\"}\"]} ,\"u\":\"\\u00e9\\\\\"}",
		  "{\"fabric\" : {\"v\":1} ,\"u\":\"\\u00e9\\\\\"}" },
		{ "{\"n\":-1e9,\"fabric\":7}", "{\"n\":-1e9,\"fabric\":{\"v\":1}}" },
		{ "{\"fabric\":\"text\",\"b\":true}", "{\"fabric\":{\"v\":1},\"b\":true}" },
		{ "{\"fabricx\":1}", "{\"fabricx\":1,\"fabric\":{\"v\":1}}" },
	};
	static const char *const foreign[] = { "ticket 17", "[1]", "{\"a\":1", "{\"a\":1} x", "7" };
	json_object *ours = json_parse("{\"v\":1}", 7, "ours", NULL);
	char *text;
	int rc;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		json_object *again;

		assert_int_equal(jobfield_merge(cases[i][0], ours, 100, &text, NULL), 0);
		assert_string_equal(text, cases[i][1]);
		again = jobfield_extract(text);
		assert_true(json_object_equal(again, ours));
		json_object_put(again);
		free(text);
	}
	for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++)
		assert_int_equal(jobfield_merge(foreign[i], ours, 100, &text, NULL), -EEXIST);
	/* json-c 0.18 takes no integer of more than 64 bits: what holds one is left alone then */
	rc = jobfield_merge("{\"id\":123456789012345678901234567890}", ours, 100, &text, NULL);
	assert_true(rc == 0 || rc == -EEXIST);
	if (rc == 0)
		assert_string_equal(
			text, "{\"id\":123456789012345678901234567890,\"fabric\":{\"v\":1}}");
	free(text);
	assert_int_equal(jobfield_merge("{}", ours, 6, &text, NULL), -E2BIG);
	json_object_put(ours);
}

/* What stands on fewer records does not replace what stands on more. */
static void a_poorer_field_is_told(void **state)
{
	json_object *two = json_parse("{\"records\":2}", 13, "two", NULL);

	(void)state;
	assert_true(jobfield_poorer("{\"fabric\":{\"records\":3}}", two));
	assert_false(jobfield_poorer("{\"fabric\":{\"records\":2}}", two));
	assert_false(jobfield_poorer("{\"fabric\":{\"state\":\"running\"}}", two));
	assert_false(jobfield_poorer("{\"site\":{\"records\":3}}", two));
	assert_false(jobfield_poorer("records 3", two));
	assert_false(jobfield_poorer(NULL, two));
	json_object_put(two);
}

static json_object *json_of(const char *text)
{
	json_object *value = json_parse(text, strlen(text), "test", NULL);

	assert_non_null(value);
	return value;
}

/* The line for Extra: what is not known is not in it, and it is not longer than Slurm allows. */
static void a_field_folds_into_a_line(void **state)
{
	static const char *const cases[][2] = {
		{ "{\"state\":\"final\",\"class\":\"compact\",\"nodes\":4,"
		  "\"units\":{\"used\":2,\"fewest\":1},"
		  "\"steps\":[{\"step\":\"batch\"},{\"step\":\"0\",\"suspects\":"
		  "[{\"node\":\"n1\",\"device\":\"mlx5_3:1\",\"retransmits\":9}]}]}",
		  "fabric: final; compact; 4 nodes; 2 units, fewest 1; step 0: n1 mlx5_3:1 "
		  "suspect" },
		{ "{\"state\":\"partial\",\"steps\":[]}", "fabric: partial" },
		{ "{\"state\":\"final\",\"class\":\"a\\u001bb\",\"units\":7,"
		  "\"steps\":{\"step\":1}}",
		  "fabric: final; a?b" },
	};
	json_object *many =
		json_of("{\"state\":\"final\",\"steps\":[{\"step\":\"0\",\"suspects\":[]}]}");
	json_object *suspects = json_object_object_get(
		json_object_array_get_idx(json_object_object_get(many, "steps"), 0), "suspects");
	char *line;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		json_object *field = json_of(cases[i][0]);

		line = jobfield_digest(field);
		assert_string_equal(line, cases[i][1]);
		assert_true(jobfield_digest_is_ours(line));
		free(line);
		json_object_put(field);
	}
	for (size_t i = 0; i < 100; i++)
		json_object_array_add(suspects,
				      json_of("{\"node\":\"n1\",\"device\":\"mlx5_3:1\"}"));
	line = jobfield_digest(many);
	assert_in_range(strlen(line), JOBFIELD_EXTRA_MAX - 40, JOBFIELD_EXTRA_MAX);
	free(line);
	json_object_put(many);
	assert_true(jobfield_digest_is_ours(NULL));
	assert_true(jobfield_digest_is_ours(""));
	assert_false(jobfield_digest_is_ours("fabrication"));
	assert_false(jobfield_digest_is_ours("{\"fabric\":1}"));
}

/* ---- Slurm's words ---- */

static void gres_detail_gives_indexes(void **state)
{
	static const struct {
		const char *text;
		bool known;
		size_t count;
		int32_t first, last;
	} cases[] = {
		{ "gpu:2(IDX:0-1)", true, 2, 0, 1 },
		{ "gpu:h100:3(IDX:0,3,5)", true, 3, 0, 5 },
		{ "mps:100,gpu:a:1(IDX:7),gpu:b:2(IDX:2-3)", true, 3, 2, 7 },
		{ "nic:2(IDX:0-1)", true, 0, 0, 0 },
		{ "gpuish:2(IDX:0-1)", true, 0, 0, 0 },
		{ "", true, 0, 0, 0 },
		{ "gpu:0", true, 0, 0, 0 },
		{ "gpu:4", false, 0, 0, 0 },
		{ "gpu", false, 0, 0, 0 },
		{ "gpu:2(IDX:N/A)", false, 0, 0, 0 },
		{ "gpu:2(IDX:)", false, 0, 0, 0 },
		{ "gpu:2(IDX:0-", false, 0, 0, 0 },
		{ "gpu:2(IDX:1-0)", false, 0, 0, 0 },
		{ "gpu:2(IDX:0-99999999999999999999)", false, 0, 0, 0 },
		{ "gpu:4,gpu:2(IDX:0-1)", false, 0, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct job_gpus g;

		assert_int_equal(job_gpus_parse(cases[i].text, &g), 0);
		if (g.known != cases[i].known || g.count != cases[i].count)
			fail_msg("\"%s\": known %d, %zu GPUs", cases[i].text, g.known, g.count);
		if (g.count) {
			assert_int_equal(g.index[0], cases[i].first);
			assert_int_equal(g.index[g.count - 1], cases[i].last);
		}
		free(g.index);
	}
}

static void broken_facts_are_refused(void **state)
{
	static const char good[] =
		"{\"job\":1,\"uid\":0,\"state\":\"RUNNING\",\"running\":true,\"ended\":false,"
		"\"submit\":5,\"hosts\":[\"a\",\"b\"],\"gres\":[\"gpu:1(IDX:0)\",\"\"]}";
	static const char *const bad[] = {
		"{}",
		"[]",
		"{\"job\":0}",
		"{\"job\":1,\"uid\":-1}",
		"{\"job\":1,\"uid\":0,\"state\":1,\"running\":true,\"ended\":false,\"submit\":5}",
		"{\"job\":1,\"uid\":0,\"state\":\"R\",\"running\":true,\"ended\":false,\"submit\":"
		"5,\"hosts\":[1]}",
		"{\"job\":1,\"uid\":0,\"state\":\"R\",\"running\":true,\"ended\":false,\"submit\":"
		"5,\"hosts\":\"a\"}",
		"{\"job\":1,\"uid\":0,\"state\":\"R\",\"running\":true,\"ended\":false,\"submit\":"
		"1e300}",
	};
	struct err err;

	(void)state;
	for (size_t len = 0; len <= strlen(good); len++) {
		json_object *o = json_parse(good, len, "facts", NULL);
		struct job_facts *f = o ? job_facts_from_json(o, NULL) : NULL;

		assert_true((f != NULL) == (len == strlen(good)));
		job_facts_free(f);
		json_object_put(o);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		json_object *o = json_parse(bad[i], strlen(bad[i]), "facts", NULL);

		err.text[0] = '\0';
		assert_non_null(o);
		assert_null(job_facts_from_json(o, &err));
		assert_true(err.text[0] != '\0');
		json_object_put(o);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_case_says_what_it_must),
		cmocka_unit_test(golden_field_is_canonical_and_ours),
		cmocka_unit_test(the_bad_port_is_named_with_its_switch),
		cmocka_unit_test(one_node_is_not_all),
		cmocka_unit_test(states_follow_slurm_and_the_reports),
		cmocka_unit_test(what_does_not_fit_is_left_out),
		cmocka_unit_test(tag_of_four_nodes_fits_with_rails),
		cmocka_unit_test(field_is_bounded_for_any_job),
		cmocka_unit_test(a_job_of_the_whole_cluster_fits),
		cmocka_unit_test(sums_say_what_they_stand_on),
		cmocka_unit_test(equal_names_of_switches_do_not_hide_each_other),
		cmocka_unit_test(a_forged_class_is_not_passed_on),
		cmocka_unit_test(foreign_content_stays_as_it_is),
		cmocka_unit_test(a_poorer_field_is_told),
		cmocka_unit_test(a_field_folds_into_a_line),
		cmocka_unit_test(gres_detail_gives_indexes),
		cmocka_unit_test(broken_facts_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
