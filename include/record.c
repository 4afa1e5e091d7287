/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record.c - see record.h.
 *
 * A record on the wire is one line of JSON. Totals and rates are objects by device and meaning, in
 * the order of the values, so that a record that was read and is written again gives the same
 * bytes. Rates are percentiles: three digits say all that they can say, and that keeps them short.
 * Input: sfabricd's summaries, or text from the spool or the network, which is checked key by key.
 */
#include "record.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "packet.h"
#include "text.h"

#define DEVICE_MAX 64
#define NODE_MAX 255 /* the longest host name: HOST_NAME_MAX allows 64, DNS 255 */

void record_free(struct record *r)
{
	if (!r)
		return;
	free(r->node);
	free(r->gpus);
	free(r->class);
	free(r->end);
	free(r->partial);
	for (size_t i = 0; i < r->shared_count; i++)
		free(r->shared_with[i]);
	free(r->shared_with);
	for (size_t i = 0; i < r->value_count; i++)
		free(r->values[i].device);
	free(r->values);
	free(r);
}

struct record *record_new(void)
{
	struct record *r = calloc(1, sizeof(*r));

	if (r) {
		r->tasks = PACKET_UNKNOWN;
		r->cores = PACKET_UNKNOWN;
	}
	return r;
}

int record_make_id(char id[RECORD_ID], struct err *err)
{
	unsigned char bytes[(RECORD_ID - 1) / 2];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return err_set(err, errno ? errno : EIO, "no random id: getrandom: %s",
			       strerror(errno));
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(id + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

static bool device_valid(const char *device)
{
	size_t len = strnlen(device, DEVICE_MAX + 1);

	return len > 0 && len <= DEVICE_MAX &&
	       strspn(device, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			      "0123456789_.:-!") == len;
}

/* Where the value is, or where it belongs. */
static size_t place(const struct record *r, const char *device, enum meaning m, bool *there)
{
	size_t low = 0, high = r->value_count;

	*there = false;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int order = strcmp(r->values[mid].device, device);

		if (order == 0)
			order = (int)r->values[mid].meaning - (int)m;
		if (order == 0) {
			*there = true;
			return mid;
		}
		if (order < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

int record_add(struct record *r, const char *device, enum meaning m, uint64_t total)
{
	struct record_value *more, value = { .meaning = m, .total = total };
	bool there;
	size_t at = place(r, device, m, &there);

	if (there) {
		r->values[at].total = total;
		return 0;
	}
	if (!device_valid(device))
		return -EINVAL;
	if (r->value_count >= RECORD_VALUES)
		return -E2BIG;
	more = reallocarray(r->values, r->value_count + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	r->values = more;
	value.device = strdup(device);
	if (!value.device)
		return -ENOMEM;
	memmove(more + at + 1, more + at, (r->value_count - at) * sizeof(*more));
	more[at] = value;
	r->value_count++;
	return 0;
}

bool record_add_rates(struct record *r, const char *device, enum meaning m, double p50, double p95,
		      double max)
{
	bool there;
	size_t at = place(r, device, m, &there);

	if (!there)
		return false;
	r->values[at].has_rates = true;
	r->values[at].p50 = p50;
	r->values[at].p95 = p95;
	r->values[at].max = max;
	return true;
}

const struct record_value *record_find(const struct record *r, const char *device, enum meaning m)
{
	bool there;
	size_t at = place(r, device, m, &there);

	return there ? &r->values[at] : NULL;
}

/* --- writing ------------------------------------------------------------------------------------
 */

/* What goes into the text: record_line() lowers it until the text fits. */
struct selection {
	bool rates, zeros, cut;
	size_t values, shared;
};

static json_object *rate_new(double rate)
{
	char text[32];

	if (rate >= 9.2e18)
		return json_object_new_int64(INT64_MAX);
	if (rate >= 999.5) /* three digits of it are 1000 */
		return json_object_new_int64(rate < 1000 ? 1000 : (int64_t)rate);
	snprintf(text, sizeof(text), "%.3g", rate);
	return json_object_new_double_s(rate, text);
}

static json_object *rates_of(const struct record_value *v)
{
	json_object *array = json_object_new_array();

	if (array && json_append(array, rate_new(v->p50)) == 0 && json_append(array, rate_new(v->p95)) == 0 &&
	    json_append(array, rate_new(v->max)) == 0)
		return array;
	json_object_put(array);
	return NULL;
}

/* The object of a device within by_device, made when it is not there. NULL without memory. */
static json_object *device_object(json_object *by_device, const char *device)
{
	json_object *object;

	if (json_object_object_get_ex(by_device, device, &object))
		return object;
	object = json_object_new_object();
	return json_put_value(by_device, device, object) == 0 ? object : NULL;
}

static int put_values(json_object *object, const struct record *r, const struct selection *sel)
{
	json_object *totals = json_object_new_object(), *rates = json_object_new_object(), *of;
	size_t left = sel->values;
	int rc = totals && rates ? 0 : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < r->value_count && left > 0; i++) {
		const struct record_value *v = &r->values[i];

		if (v->total == 0 && !sel->zeros)
			continue;
		left--;
		of = device_object(totals, v->device);
		rc = of ? json_put_u64(of, meaning_name(v->meaning), v->total) : -ENOMEM;
		if (rc < 0 || !v->has_rates || !sel->rates)
			continue;
		of = device_object(rates, v->device);
		rc = of ? json_put_value(of, meaning_name(v->meaning), rates_of(v)) : -ENOMEM;
	}
	if (rc == 0)
		rc = json_put_value(object, "totals", json_object_get(totals));
	if (rc == 0 && rates && json_object_object_length(rates) > 0)
		rc = json_put_value(object, "rates", json_object_get(rates));
	json_object_put(totals);
	json_object_put(rates);
	return rc;
}

static int put_lists(json_object *object, const struct record *r, const struct selection *sel)
{
	json_object *array;
	int rc = 0;

	if (r->gpus_known) {
		array = json_object_new_array();
		rc = json_put_value(object, "gpus", array);
		for (size_t i = 0; rc == 0 && i < r->gpu_count; i++)
			rc = json_append(array, json_object_new_int(r->gpus[i]));
	}
	if (rc == 0 && r->class)
		rc = json_put_string(object, "class", r->class);
	if (rc == 0 && sel->shared > 0) {
		array = json_object_new_array();
		rc = json_put_value(object, "shared_with", array);
		for (size_t i = 0; rc == 0 && i < sel->shared; i++)
			rc = json_append(array, json_object_new_string(r->shared_with[i]));
	}
	return rc;
}

/* Less than that passes between two looks at two clocks. */
#define CLOCK_SET_NS 100000000

static int put_clock_set(json_object *object, const struct record *r)
{
	int64_t set_ns = r->end_ns - r->begin_ns - r->elapsed_ns;

	return llabs(set_ns) < CLOCK_SET_NS ? 0 : json_put_int(object, "clock_set_ns", set_ns);
}

static int put_who(json_object *object, const struct record *r)
{
	char step[STEP_TEXT];
	int rc = json_put_format(object, RECORD_FORMAT, RECORD_VERSION);

	rc = rc ? rc : json_put_string(object, "id", r->id);
	rc = rc ? rc : json_put_int(object, "job", r->job);
	rc = rc ? rc : json_put_string(object, "step", step_format(r->step, step));
	rc = rc ? rc : json_put_string(object, "node", r->node ? r->node : "");
	rc = rc ? rc : json_put_int(object, "node_index", r->node_index);
	rc = rc ? rc : json_put_int(object, "node_count", r->node_count);
	rc = rc ? rc : json_put_int(object, "uid", r->uid);
	rc = rc ? rc : json_put_int(object, "begin_ns", r->begin_ns);
	rc = rc ? rc : json_put_int(object, "end_ns", r->end_ns);
	rc = rc ? rc : json_put_int(object, "elapsed_ns", r->elapsed_ns);
	rc = rc ? rc : put_clock_set(object, r);
	if (rc == 0 && r->end)
		rc = json_put_string(object, "end", r->end);
	if (rc == 0 && r->partial)
		rc = json_put_string(object, "partial", r->partial);
	if (rc == 0 && r->tasks != PACKET_UNKNOWN)
		rc = json_put_int(object, "tasks", r->tasks);
	if (rc == 0 && r->cores != PACKET_UNKNOWN)
		rc = json_put_int(object, "cores", r->cores);
	return rc;
}

static int put_quality(json_object *object, const struct record *r)
{
	json_object *of = json_object_new_object();
	int rc = json_put_value(object, "sampling", of);

	rc = rc ? rc : json_put_int(of, "interval_ns", r->interval_ns);
	rc = rc ? rc : json_put_int(of, "samples", r->samples);
	rc = rc ? rc : json_put_int(of, "missed", r->missed);
	rc = rc ? rc : json_put_int(of, "begin_gap_ns", r->begin_gap_ns);
	rc = rc ? rc : json_put_int(of, "end_gap_ns", r->end_gap_ns);
	if (rc < 0)
		return rc;
	of = json_object_new_object();
	rc = json_put_value(object, "cost", of);
	rc = rc ? rc : json_put_int(of, "cpu_us", r->cost_us);
	rc = rc ? rc : json_put_int(of, "hooks_us", r->hooks_us);
	if (rc < 0 || !r->clock_known)
		return rc;
	of = json_object_new_object();
	rc = json_put_value(object, "clock", of);
	rc = rc ? rc : json_put_int(of, "offset_ns", r->clock_offset_ns);
	return rc ? rc : json_put_int(of, "bound_ns", r->clock_bound_ns);
}

static json_object *build(const struct record *r, const struct selection *sel)
{
	json_object *object = json_object_new_object();
	int rc = object ? put_who(object, r) : -ENOMEM;

	rc = rc ? rc : put_lists(object, r, sel);
	rc = rc ? rc : put_quality(object, r);
	rc = rc ? rc : put_values(object, r, sel);
	if (rc == 0 && (r->cut || sel->cut))
		rc = json_put_bool(object, "cut", true);
	if (rc == 0)
		return object;
	json_object_put(object);
	return NULL;
}

static struct selection everything(const struct record *r)
{
	return (struct selection){
		.rates = true, .zeros = true, .values = r->value_count, .shared = r->shared_count
	};
}

json_object *record_to_json(const struct record *r)
{
	struct selection all = everything(r);

	return build(r, &all);
}

/* Lowers the selection by one step; false when nothing is left to leave out. */
static bool lower(struct selection *sel)
{
	sel->cut = true;
	if (sel->rates)
		sel->rates = false;
	else if (sel->zeros)
		sel->zeros = false;
	else if (sel->values > 0)
		sel->values -= (sel->values + 15) / 16;
	else if (sel->shared > 0)
		sel->shared = 0;
	else
		return false;
	return true;
}

char *record_line(const struct record *r)
{
	struct selection sel = everything(r);

	do {
		json_object *object = build(r, &sel);
		char *line = object ? json_line(object) : NULL;

		json_object_put(object);
		if (!line || strlen(line) <= RECORD_MAX_BYTES)
			return line;
		free(line);
	} while (lower(&sel));
	errno = E2BIG;
	return NULL;
}

/* --- reading ------------------------------------------------------------------------------------
 */

static void out_of_memory(struct json_reader *r)
{
	if (r->rc == 0)
		r->rc = err_set(r->err, ENOMEM, "%s: out of memory", r->source);
}

/* A copy of an optional string of at most max bytes. */
static char *read_text(struct json_reader *r, json_object *object, const char *key, size_t max)
{
	char *text;

	if (r->rc < 0 || !json_has(object, key))
		return NULL;
	text = json_read_strdup(r, object, key);
	if (text && strlen(text) > max)
		json_fail(r, "key \"%s\" is longer than %zu bytes", key, max);
	return text;
}

static void read_id(struct json_reader *r, json_object *object, struct record *record)
{
	const char *id = json_read_string(r, object, "id");

	if (!id)
		return;
	if (strlen(id) != RECORD_ID - 1 || strspn(id, "0123456789abcdef") != RECORD_ID - 1)
		json_fail(r, "key \"id\" must be %d hex digits", RECORD_ID - 1);
	else
		memcpy(record->id, id, RECORD_ID);
}

/* Times are added to and subtracted from: this leaves room. The year 2116. */
#define LATEST_NS (INT64_MAX / 2)

static void read_who(struct json_reader *r, json_object *object, struct record *record)
{
	const char *step;

	read_id(r, object, record);
	record->job = (uint32_t)json_read_int(r, object, "job", 0, UINT32_MAX);
	step = json_read_string(r, object, "step");
	if (step && !step_parse(step, &record->step))
		json_fail(r, "key \"step\" is \"%.20s\", no step id", step);
	record->node = json_read_strdup(r, object, "node");
	if (record->node && (!name_valid(record->node, NODE_MAX)))
		json_fail(r, "key \"node\" is no host name");
	record->node_index = (uint32_t)json_read_int(r, object, "node_index", 0, UINT32_MAX);
	record->node_count = (uint32_t)json_read_int(r, object, "node_count", 0, UINT32_MAX);
	record->uid = (uint32_t)json_read_int(r, object, "uid", 0, UINT32_MAX);
	record->begin_ns = json_read_int(r, object, "begin_ns", 0, LATEST_NS);
	record->end_ns = json_read_int(r, object, "end_ns", 0, LATEST_NS);
	record->elapsed_ns = json_read_int(r, object, "elapsed_ns", 0, LATEST_NS);
	record->end = read_text(r, object, "end", RECORD_TEXT);
	record->partial = read_text(r, object, "partial", RECORD_TEXT);
	if (json_has(object, "tasks"))
		record->tasks = (uint32_t)json_read_int(r, object, "tasks", 0, UINT32_MAX - 1);
	if (json_has(object, "cores"))
		record->cores = (uint32_t)json_read_int(r, object, "cores", 0, UINT32_MAX - 1);
}

static void read_gpus(struct json_reader *r, json_object *object, struct record *record)
{
	json_object *array = json_has(object, "gpus") ? json_read_array(r, object, "gpus") : NULL;
	size_t count = array ? json_object_array_length(array) : 0;

	if (!array)
		return;
	record->gpus_known = true;
	if (count > RECORD_GPUS)
		json_fail(r, "key \"gpus\" has more than %d elements", RECORD_GPUS);
	if (r->rc < 0 || count == 0)
		return;
	record->gpus = calloc(count, sizeof(*record->gpus));
	if (!record->gpus) {
		out_of_memory(r);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		json_object *value = json_object_array_get_idx(array, i);
		int64_t index = json_object_get_int64(value);

		if (!json_object_is_type(value, json_type_int) || index < 0 || index > INT32_MAX) {
			json_fail(r, "gpu %zu is no index", i);
			return;
		}
		record->gpus[record->gpu_count++] = (int32_t)index;
	}
}

static void read_shared(struct json_reader *r, json_object *object, struct record *record)
{
	json_object *array =
		json_has(object, "shared_with") ? json_read_array(r, object, "shared_with") : NULL;
	size_t count = array ? json_object_array_length(array) : 0;

	if (count > RECORD_SHARED)
		json_fail(r, "key \"shared_with\" has more than %d elements", RECORD_SHARED);
	if (r->rc < 0 || count == 0)
		return;
	record->shared_with = calloc(count, sizeof(*record->shared_with));
	if (!record->shared_with) {
		out_of_memory(r);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		const char *name = json_item_string(r, array, i, "shared_with");

		if (name && !name_valid(name, 32))
			json_fail(r, "shared_with %zu is no step", i);
		if (r->rc < 0)
			return;
		record->shared_with[i] = strdup(name);
		if (!record->shared_with[i]) {
			out_of_memory(r);
			return;
		}
		record->shared_count++;
	}
}

static void read_quality(struct json_reader *r, json_object *object, struct record *record)
{
	json_object *of = json_read_object(r, object, "sampling");

	record->interval_ns = json_read_int(r, of, "interval_ns", 0, INT64_MAX);
	record->samples = (uint32_t)json_read_int(r, of, "samples", 0, UINT32_MAX);
	record->missed = (uint32_t)json_read_int(r, of, "missed", 0, UINT32_MAX);
	record->begin_gap_ns = json_read_int(r, of, "begin_gap_ns", INT64_MIN, INT64_MAX);
	record->end_gap_ns = json_read_int(r, of, "end_gap_ns", INT64_MIN, INT64_MAX);
	of = json_read_object(r, object, "cost");
	record->cost_us = json_read_int(r, of, "cpu_us", 0, INT64_MAX);
	record->hooks_us = (uint32_t)json_read_int(r, of, "hooks_us", 0, UINT32_MAX);
	if (r->rc < 0 || !json_has(object, "clock"))
		return;
	of = json_read_object(r, object, "clock");
	record->clock_known = true;
	record->clock_offset_ns = json_read_int(r, of, "offset_ns", INT64_MIN, INT64_MAX);
	record->clock_bound_ns = json_read_int(r, of, "bound_ns", 0, INT64_MAX);
}

/* One total. A meaning that a later release knows is skipped. */
static void read_total(struct json_reader *r, json_object *of, const char *device, const char *name,
		       struct record *record)
{
	enum meaning m;
	uint64_t total = json_read_u64(r, of, name);
	int rc;

	if (r->rc < 0 || !meaning_parse(name, &m))
		return;
	rc = record_add(record, device, m, total);
	if (rc == -ENOMEM)
		out_of_memory(r);
	else if (rc < 0)
		json_fail(r, "totals of \"%.80s\": %s", device,
			  rc == -EINVAL ? "no device name" : "too many");
}

static bool read_rate(json_object *array, size_t i, double *rate)
{
	json_object *value = json_object_array_get_idx(array, i);

	if (!json_object_is_type(value, json_type_int) &&
	    !json_object_is_type(value, json_type_double))
		return false;
	*rate = json_object_get_double(value);
	return isfinite(*rate) && *rate >= 0;
}

static void read_rates(struct json_reader *r, json_object *of, const char *device, const char *name,
		       struct record *record)
{
	json_object *array = json_read_array(r, of, name);
	double p50, p95, max;
	enum meaning m;

	if (!array || !meaning_parse(name, &m))
		return;
	if (json_object_array_length(array) != 3 || !read_rate(array, 0, &p50) ||
	    !read_rate(array, 1, &p95) || !read_rate(array, 2, &max))
		json_fail(r, "rates of \"%.80s\" must be three numbers, none negative", device);
	else if (!record_add_rates(record, device, m, p50, p95, max))
		json_fail(r, "rates of \"%.80s\" have no total", device);
}

static void read_values(struct json_reader *r, json_object *object, struct record *record)
{
	json_object *by_device = json_read_object(r, object, "totals");

	if (!by_device)
		return;
	json_object_object_foreach(by_device, device, of)
	{
		if (!json_object_is_type(of, json_type_object))
			json_fail(r, "totals of \"%.80s\" must be of type object", device);
		if (r->rc < 0)
			return;
		json_object_object_foreach(of, name, value)
		{
			(void)value;
			read_total(r, of, device, name, record);
		}
	}
	by_device = json_has(object, "rates") ? json_read_object(r, object, "rates") : NULL;
	if (!by_device)
		return;
	json_object_object_foreach(by_device, rated, rates)
	{
		if (!json_object_is_type(rates, json_type_object))
			json_fail(r, "rates of \"%.80s\" must be of type object", rated);
		if (r->rc < 0)
			return;
		json_object_object_foreach(rates, which, array)
		{
			(void)array;
			read_rates(r, rates, rated, which, record);
		}
	}
}

struct record *record_from_json(json_object *object, const char *source, struct err *err)
{
	struct json_reader r = { .source = source, .err = err };
	struct record *record = record_new();

	if (!record) {
		err_set(err, ENOMEM, "%s: out of memory", source);
		return NULL;
	}
	json_read_format(&r, object, RECORD_FORMAT, RECORD_VERSION);
	read_who(&r, object, record);
	read_gpus(&r, object, record);
	record->class = read_text(&r, object, "class", PACKET_WORD);
	read_shared(&r, object, record);
	read_quality(&r, object, record);
	read_values(&r, object, record);
	if (r.rc == 0 && json_has(object, "cut"))
		record->cut = json_read_bool(&r, object, "cut");
	if (r.rc == 0)
		return record;
	record_free(record);
	errno = -r.rc;
	return NULL;
}

struct record *record_parse(const char *text, size_t len, const char *source, struct err *err)
{
	struct record *record;
	json_object *object;

	if (len > RECORD_MAX_BYTES + 1) { /* a newline may follow */
		err_set(err, E2BIG, "%s: a record has at most %d bytes", source, RECORD_MAX_BYTES);
		return NULL;
	}
	object = json_parse(text, len, source, err);
	if (!object)
		return NULL;
	record = record_from_json(object, source, err);
	json_object_put(object);
	return record;
}
