/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_fabric.c - the contract fabric.json (include/fabric.h): what is read, what is refused, what
 * is written.
 */
#include "fabric.h"
#include "json.h"
#include "unit.h"

static struct fabric *golden_fabric(void)
{
	struct err err = { "" };
	struct fabric *f = fabric_load(TEST_DATA "/contract/fabric.json", &err);

	if (!f)
		fail_msg("%s", err.text);
	return f;
}

static void golden_bytes(void **state)
{
	size_t len;
	char *text = test_data("contract/fabric.json", &len), *again;
	struct fabric *f = golden_fabric();

	(void)state;
	again = fabric_text(f);
	assert_string_equal(again, text);
	free(again);
	free(text);
	fabric_free(f);
}

static void golden_content(void **state)
{
	struct fabric *f = golden_fabric();
	const struct fabric_port *port;
	size_t sw, i;

	(void)state;
	assert_int_equal(f->switch_count, 18);
	assert_int_equal(f->link_count, 32);
	assert_int_equal(f->port_count, 33);
	assert_int_equal(f->host_count, 4);
	assert_int_equal(f->missing_count, 0);
	assert_string_equal(f->how, "live");

	sw = fabric_find_switch(f, UINT64_C(0xb83fd20300cc0010));
	assert_int_not_equal(sw, FABRIC_NONE);
	assert_string_equal(f->switches[sw].name, "spine1");
	assert_string_equal(f->switches[sw].chassis, "director1");
	assert_int_equal(f->switches[sw].level, 1);
	assert_int_equal(f->switches[sw].plane, 0);
	assert_int_equal(f->switches[0].plane, -1);
	assert_null(f->switches[0].chassis);

	i = fabric_find_port(f, UINT64_C(0xb83fd20300100061));
	assert_int_not_equal(i, FABRIC_NONE);
	port = &f->ports[i];
	assert_string_equal(f->hosts[port->host].name, "n1");
	assert_string_equal(port->device, "mlx5_10");
	assert_int_equal(port->rail, 6);
	assert_string_equal(f->switches[port->sw].name, "su1-leaf6");
	assert_int_equal(port->sw_port, 7);
	assert_int_equal(port->wire.width, 2);
	assert_int_equal(port->wire.best_width, 4);
	assert_int_equal(port->wire.best_speed_bps, 400000000000);
	assert_true(port->wire.degraded);
	assert_int_equal(port->wire.state, LINK_ACTIVE);
	assert_int_equal(port->wire.absent_ns, 0);

	/* unknown is unknown */
	port = &f->ports[fabric_find_port(f, UINT64_C(0xb83fd20300200001))];
	assert_int_equal(port->host, FABRIC_NONE);
	assert_null(port->device);
	assert_int_equal(port->rail, -1);
	assert_int_equal(port->system_guid, 0);
	assert_int_equal(port->wire.width, 0);
	assert_int_equal(port->wire.speed_bps, 0);
	assert_int_equal(port->wire.state, LINK_DOWN);
	assert_int_equal(port->wire.absent_ns, INT64_C(1736157600000000000));

	assert_int_equal(f->counts_count, 1);
	assert_int_equal(f->counts[0].port, 1);
	assert_int_equal(f->counts[0].value[COUNTER_LINK_DOWNED], 2);
	assert_true(f->counts[0].value[COUNTER_XMIT_BYTES] == UINT64_C(1) << 62);
	assert_true(f->counts[0].value[COUNTER_RCV_ERRORS] == UINT64_MAX);

	i = fabric_find_host(f, "n3");
	assert_string_equal(f->units[f->hosts[i].unit].name, "su2-leaf");
	assert_int_equal(f->units[f->hosts[i].unit].leaf_count, 8);
	assert_string_equal(f->pods[f->units[f->hosts[i].unit].pod].name, "spine");
	assert_string_equal(f->islands[f->pods[0].island].name, "fabric");

	assert_int_equal(fabric_find_host(f, "n5"), FABRIC_NONE);
	assert_int_equal(fabric_find_host(f, ""), FABRIC_NONE);
	assert_int_equal(fabric_find_port(f, 0), FABRIC_NONE);
	assert_int_equal(fabric_find_switch(f, 1), FABRIC_NONE);
	fabric_free(f);
}

/* One of everything, on one line. */
static const char one_of_all[] =
	"{\"format\":\"slurm-fabric/"
	"fabric\",\"version\":1,\"discovered\":{\"how\":\"file\",\"source\":\"x\","
	"\"seen_ns\":1,\"complete\":false,\"missing\":[\"m\"]},\"switches\":[{\"guid\":"
	"\"0x0000000000000001\","
	"\"system_guid\":\"0x0000000000000001\",\"name\":\"s\",\"chassis\":\"c\",\"level\":0,"
	"\"plane\":0,"
	"\"ports\":2}],\"links\":[{\"a\":{\"switch\":\"0x0000000000000001\",\"port\":1},\"b\":{"
	"\"switch\":"
	"\"0x0000000000000001\",\"port\":2},\"width\":4,\"speed_bps\":5,\"state\":\"init\","
	"\"degraded\":true}],"
	"\"ports\":[{\"guid\":\"0x0000000000000002\",\"node_guid\":\"0x0000000000000002\",\"system_"
	"guid\":"
	"\"0x0000000000000002\",\"host\":\"h\",\"device\":\"d0\",\"port\":1,\"switch\":"
	"\"0x0000000000000001\","
	"\"switch_port\":3,\"rail\":0}],\"hosts\":[{\"name\":\"h\",\"unit\":\"u\"}],\"units\":[{"
	"\"name\":\"u\","
	"\"leaves\":[\"0x0000000000000001\"],\"pod\":\"p\"}],\"pods\":[{\"name\":\"p\",\"island\":"
	"\"i\"}],"
	"\"islands\":[{\"name\":\"i\"}]}";

static void cut_anywhere(void **state)
{
	struct fabric *f = fabric_parse(one_of_all, strlen(one_of_all), "f.json", NULL);

	(void)state;
	assert_non_null(f);
	fabric_free(f);
	for (size_t n = 0; n < strlen(one_of_all); n++) {
		struct err err = { "" };
		assert_null(fabric_parse(one_of_all, n, "f.json", &err));
		assert_memory_equal(err.text, "f.json", 6);
	}
}

/* Replaces the first `from` of the golden text and returns the sentence it is refused with. */
static void refuse(const char *from, const char *to, const char *says)
{
	struct err err = { "" };
	size_t len;
	char *text = test_data("contract/fabric.json", &len), *at = strstr(text, from), *changed;
	struct fabric *f;

	assert_non_null(at);
	*at = '\0';
	changed = io_format("%s%s%s", text, to, at + strlen(from));
	f = fabric_parse(changed, strlen(changed), "f.json", &err);
	if (f)
		fail_msg("%s for %s was taken", to, from);
	assert_memory_equal(err.text, "f.json", 6);
	if (!strstr(err.text, says))
		fail_msg("\"%s\" does not say %s", err.text, says);
	free(changed);
	free(text);
}

static void refusals(void **state)
{
	(void)state;
	refuse("\"version\":1", "\"version\":2", "newer");
	refuse("slurm-fabric/fabric", "slurm-fabric/health", "slurm-fabric/health");
	refuse("\"complete\":true", "\"complete\":false", "complete");
	refuse("\"seen_ns\":1736157600000000000", "\"seen_ns\":-1", "seen_ns");
	refuse("\"guid\":\"0xb83fd20300aa0000\"", "\"guid\":\"0xb83fd20300aa0011\"", "switches[1]");
	refuse("\"guid\":\"0xb83fd20300aa0000\"", "\"guid\":17", "switches[0]");
	refuse("\"name\":\"su1-leaf0\"", "\"name\":\"a b\"", "switches[0]");
	refuse("\"name\":\"su1-leaf0\"", "\"name\":\"a\\nb\"", "switches[0]");
	refuse("\"name\":\"su1-leaf0\"", "\"nam\":\"su1-leaf0\"", "switches[0]");
	refuse("\"level\":0", "\"level\":-2", "level");
	refuse("\"ports\":65", "\"ports\":65000", "ports");
	refuse("\"switch\":\"0xb83fd20300aa0000\"", "\"switch\":\"0x0000000000000007\"",
	       "links[0]");
	refuse("\"switch\":\"0xb83fd20300aa0000\"", "\"switch\":\"0xb83fd20300cc0010\"",
	       "links[0]");
	refuse("\"port\":33", "\"port\":35", "links[1]");
	refuse("\"port\":33", "\"port\":0", "links[0]");
	refuse("\"width\":4", "\"width\":3", "lanes");
	refuse("\"speed_bps\":400000000000", "\"speed_bps\":0", "speed_bps");
	refuse("\"state\":\"active\"", "\"state\":\"up\"", "state");
	refuse("\"degraded\":false", "\"degraded\":0", "degraded");
	refuse("\"guid\":\"0xb83fd20300100001\"", "\"guid\":\"0xb83fd20300100011\"", "ports[1]");
	refuse("\"host\":\"n1\"", "\"host\":\"n9\"", "ports[0]");
	refuse("\"rail\":0", "\"rail\":999", "rail");
	refuse("\"name\":\"n2\"", "\"name\":\"n1\"", "hosts[1]");
	refuse("\"unit\":\"su1-leaf\"", "\"unit\":\"su3-leaf\"", "hosts[0]");
	refuse("\"name\":\"su2-leaf\"", "\"name\":\"su1-leaf\"", "units[1]");
	refuse("\"0xb83fd20300aa0010\",\n        \"0xb83fd20300aa0020\"",
	       "\"0xb83fd20300aa0020\",\n        \"0xb83fd20300aa0010\"", "units[0]");
	refuse("\"0xb83fd20300aa0010\",\n        \"0xb83fd20300aa0020\"",
	       "\"0x17\",\n\"0xb83fd20300aa0020\"", "leaves");
	refuse("\"pod\":\"spine\"", "\"pod\":\"fabric\"", "units[0]");
	refuse("\"island\":\"fabric\"", "\"island\":\"x\"", "pods[0]");
	refuse("\"islands\":[", "\"islands\":{", "f.json");
}

/* Another value for each value in turn: a clean sentence or a fabric that can be written, no crash.
 */
static void wrong_types(void **state)
{
	static const char *const values[] = { "null", "[]",   "{}",   "1.5", "\"\"",
					      "-1",   "true", "[{}]", "1" };

	(void)state;
	for (const char *colon = strchr(one_of_all, ':'); colon; colon = strchr(colon + 1, ':')) {
		size_t value = (size_t)(colon + 1 - one_of_all);
		size_t tail = value + strcspn(colon + 1, colon[1] == '['   ? "]"
							 : colon[1] == '{' ? "}"
									   : ",}");
		tail += colon[1] == '[' || colon[1] == '{';
		for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
			char *changed = io_format("%.*s%s%s", (int)value, one_of_all, values[i],
						  one_of_all + tail);
			struct err err = { "" };
			struct fabric *f = fabric_parse(changed, strlen(changed), "f.json", &err);
			char *text = f ? fabric_text(f) : NULL;
			if (f)
				assert_non_null(text);
			else
				assert_memory_equal(err.text, "f.json", 6);
			fabric_free(f);
			free(text);
			free(changed);
		}
	}
}

static void saving(void **state)
{
	char *folder = test_folder(), *path = io_format("%s/fabric.json", folder), *text, *was;
	struct fabric *f = golden_fabric(), *again;
	struct err err = { "" };
	bool changed = false;
	size_t len;

	(void)state;
	assert_int_equal(fabric_save(f, path, &changed, &err), 0);
	assert_true(changed);
	assert_int_equal(io_read(path, 1 << 20, &was, &len, &err), 0);

	f->seen_ns += 1000; /* the same fabric seen later: the file stays as it is */
	assert_int_equal(fabric_save(f, path, &changed, &err), 0);
	assert_false(changed);
	assert_int_equal(io_read(path, 1 << 20, &text, &len, &err), 0);
	assert_string_equal(text, was);
	free(text);

	f->links[0].wire.state = LINK_INIT;
	assert_int_equal(fabric_save(f, path, &changed, &err), 0);
	assert_true(changed);
	again = fabric_load(path, &err);
	assert_non_null(again);
	assert_int_equal(again->links[0].wire.state, LINK_INIT);
	assert_true(again->seen_ns == f->seen_ns);
	fabric_free(again);

	assert_int_equal(io_write_atomic(path, "{", 1, 0644, &err),
			 0); /* a broken one is replaced */
	assert_int_equal(fabric_save(f, path, &changed, &err), 0);
	assert_true(changed);

	unlink(path);
	rmdir(folder);
	assert_true(fabric_save(f, path, &changed, &err) < 0);
	assert_non_null(strstr(err.text, path));
	fabric_free(f);
	free(was);
	free(path);
	free(folder);
}

static void missing_is_kept(void **state)
{
	struct fabric *f = golden_fabric(), *again;
	struct err err = { "" };
	char *text;

	(void)state;
	free(f->missing);
	f->missing = calloc(2, sizeof(*f->missing));
	f->missing[0] = strdup("port 3 of spine1 is up, but what is behind it did not answer");
	f->missing[1] = strdup("a \"quote\", a \\, a /, \001, \n, \t and \303\274"); /* escaped */
	f->missing_count = 2;
	text = fabric_text(f);
	assert_non_null(strstr(text, "\"complete\":false"));
	again = fabric_parse(text, strlen(text), "f.json", &err);
	assert_non_null(again);
	assert_string_equal(again->missing[0], f->missing[0]);
	assert_string_equal(again->missing[1], f->missing[1]);
	fabric_free(again);
	fabric_free(f);
	free(text);
}

static void states(void **state)
{
	enum link_state is;

	(void)state;
	for (int i = LINK_UNKNOWN; i <= LINK_ACTIVE; i++) {
		assert_true(link_state_parse(link_state_name((enum link_state)i), &is));
		assert_int_equal(is, i);
	}
	assert_false(link_state_parse("Active", &is));
	assert_false(link_state_parse("", &is));
}

/* Units. */

/* The same by trying every set of units. */
static uint32_t fewest_by_trying(const struct fabric_unit_size *units, size_t count, uint32_t hosts)
{
	uint32_t fewest = 0;

	for (uint32_t set = 1; set < 1u << count; set++) {
		uint32_t held = 0, used = 0;
		size_t island = FABRIC_NONE;
		bool apart = false;

		for (size_t i = 0; i < count; i++)
			if (set & 1u << i) {
				apart |= island != FABRIC_NONE && island != units[i].island;
				island = units[i].island;
				held += units[i].hosts;
				used++;
			}
		if (!apart && held >= hosts && (fewest == 0 || used < fewest))
			fewest = used;
	}
	return fewest;
}

static void fewest_units_are_fewest(void **state)
{
	unsigned int seed = 7;

	(void)state;
	for (int round = 0; round < 200; round++) {
		struct fabric_pod pods[3] = { { .island = 2 }, { .island = 0 }, { .island = 2 } };
		struct fabric_unit f_units[6] = { 0 };
		struct fabric_host hosts[24] = { 0 };
		struct fabric f = { .pods = pods,
				    .pod_count = 3,
				    .units = f_units,
				    .unit_count = 6,
				    .hosts = hosts,
				    .host_count = 24 };
		struct fabric_unit_size *units;
		size_t count;

		for (size_t i = 0; i < 6; i++)
			f_units[i].pod = (size_t)(rand_r(&seed) % 3);
		for (size_t i = 0; i < 24; i++)
			hosts[i].unit =
				rand_r(&seed) % 8 == 0 ? FABRIC_NONE : (size_t)(rand_r(&seed) % 6);
		units = fabric_unit_sizes(&f, &count);
		assert_non_null(units);
		assert_int_equal(count, 6);
		for (uint32_t n = 1; n <= 25; n++)
			assert_int_equal(fabric_fewest_units(units, count, n),
					 fewest_by_trying(units, count, n));
		free(units);
	}
}

static void no_fabric_no_units(void **state)
{
	struct fabric f = { 0 };
	size_t count = 1;

	(void)state;
	assert_null(fabric_unit_sizes(&f, &count));
	assert_int_equal(count, 0);
	assert_int_equal(fabric_fewest_units(NULL, 0, 4), 0);
}

/* What is read of the groups alone is what is read of the whole. */
static void groups_alone(void **state)
{
	size_t len, count, few_count;
	char *text = test_data("contract/fabric.json", &len);
	struct err err = { "" };
	struct fabric *whole = golden_fabric(),
		      *few = fabric_parse_groups(text, len, "golden", &err);
	struct fabric_unit_size *sizes = fabric_unit_sizes(whole, &count), *few_sizes;

	(void)state;
	if (!few)
		fail_msg("%s", err.text);
	few_sizes = fabric_unit_sizes(few, &few_count);
	assert_int_equal(few->port_count, 0);
	assert_int_equal(few_count, count);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(few_sizes[i].island, sizes[i].island);
		assert_int_equal(few_sizes[i].hosts, sizes[i].hosts);
	}
	free(sizes);
	free(few_sizes);
	fabric_free(whole);
	fabric_free(few);
	for (size_t cut = 0; cut + 1 < len; cut++) {
		char *part = malloc(cut + 1); /* so that ASan sees the end */
		memcpy(part, text, cut);
		few = fabric_parse_groups(part, cut, "golden", &err);
		if (few)
			fail_msg("cut at %zu it was read", cut);
		assert_non_null(strstr(err.text, "golden"));
		free(part);
	}
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden_bytes),
		cmocka_unit_test(golden_content),
		cmocka_unit_test(cut_anywhere),
		cmocka_unit_test(refusals),
		cmocka_unit_test(wrong_types),
		cmocka_unit_test(saving),
		cmocka_unit_test(missing_is_kept),
		cmocka_unit_test(states),
		cmocka_unit_test(fewest_units_are_fewest),
		cmocka_unit_test(no_fabric_no_units),
		cmocka_unit_test(groups_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
