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
	in->story.begins = in->begins;
	in->story.fabric = in->fabric;
}

static void unload(struct input *in)
{
	for (size_t i = 0; i < in->story.map_count; i++)
		map_free(in->maps[i]);
	for (size_t i = 0; i < in->story.record_count; i++)
		record_free(in->records[i]);
	for (size_t i = 0; i < in->story.begin_count; i++)
		store_begin_clear(&in->begins[i]);
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
	size_t len;

	assert_non_null(value);
	text = json_text(value);
	if (getenv("STORY_WRITE"))
		assert_int_equal(io_write_atomic(path, text, strlen(text), 0644, NULL), 0);
	want = test_data(short_path, &len);
	assert_string_equal(text, want);
	free(want);
	free(text);
	free(path);
	free(short_path);
	json_object_put(value);
}

static void every_case_says_what_it_must(void **state)
{
	static const char *const names[] = { "two-units", "missing-node", "no-slurm", "running",
					     "all-bad" };

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
	in.story.record_count--;
	assert_int_equal(story_state(&in.story), STORY_PARTIAL);
	in.story.record_count++;
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
	free(maps);
	free(records);
	job_facts_free(f);
}

static void fewest_units_takes_the_largest(void **state)
{
	struct fabric_host hosts[6] = { { NULL, 0 }, { NULL, 1 },	    { NULL, 1 },
					{ NULL, 1 }, { NULL, FABRIC_NONE }, { NULL, 0 } };
	struct fabric f = { .hosts = hosts, .host_count = 6, .unit_count = 2 };

	(void)state;
	assert_int_equal(story_fewest_units(&f, 3), 1);
	assert_int_equal(story_fewest_units(&f, 4), 2);
	assert_int_equal(story_fewest_units(&f, 5), 2);
	assert_int_equal(story_fewest_units(&f, 6), 0);
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
		cmocka_unit_test(states_follow_slurm_and_the_reports),
		cmocka_unit_test(what_does_not_fit_is_left_out),
		cmocka_unit_test(tag_of_four_nodes_fits_with_rails),
		cmocka_unit_test(field_is_bounded_for_any_job),
		cmocka_unit_test(fewest_units_takes_the_largest),
		cmocka_unit_test(gres_detail_gives_indexes),
		cmocka_unit_test(broken_facts_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
