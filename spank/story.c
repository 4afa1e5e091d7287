/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * story.c - see story.h.
 *
 * The story is first sorted into a view (hosts with their maps, steps with their records), then
 * written from it. Everything that is said of a step is said of the nodes that reported, and how
 * many those are stands beside it. Evidence names a port only when it stands out from the other
 * ports of the same step.
 */
#include "story.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fold.h"
#include "hosts.h"
#include "jobfield.h"
#include "packet.h"
#include "text.h"

#define NS_PER_S INT64_C(1000000000)
#define MAX_SUSPECTS 10
#define MAX_REASONS 16

struct step_view {
	uint32_t step;
	const struct record **records; /* sorted by node; into view.records */
	size_t record_count;
	uint32_t nodes;	 /* 0 unknown */
	size_t reported; /* nodes with a record */
};

struct view {
	const struct story *story;
	struct fold_host *hosts;
	size_t host_count;
	const struct record **records; /* sorted by step and node */
	struct step_view *steps;
	size_t step_count;
};

/* What is left out of an output. */
struct limits {
	bool records, node_maps, node_gpus, worst, missing; /* story only */
	bool rails, guids;
	size_t patterns, steps, suspects;
	bool small_totals; /* of the fabric only */
};

static int put(json_object *object, const char *key, json_object *value)
{
	if (value && object && json_object_object_add(object, key, value) == 0)
		return 0;
	json_object_put(value);
	return -ENOMEM;
}

static int append(json_object *array, json_object *value)
{
	if (value && array && json_object_array_add(array, value) == 0)
		return 0;
	json_object_put(value);
	return -ENOMEM;
}

/* ---- the view ---- */

/* Batch and interactive steps run around the numbered ones: they come first. */
static uint64_t step_rank(uint32_t step)
{
	return step >= STEP_ID_INTERACTIVE ? step - STEP_ID_INTERACTIVE : (uint64_t)step + 16;
}

static int by_step(const void *a, const void *b)
{
	const struct record *x = *(const struct record *const *)a;
	const struct record *y = *(const struct record *const *)b;
	uint64_t i = step_rank(x->step), k = step_rank(y->step);
	int order;

	if (i != k)
		return i < k ? -1 : 1;
	order = strverscmp(x->node, y->node);
	return order ? order : strcmp(x->id, y->id);
}

static int by_name(const void *a, const void *b)
{
	return strverscmp(((const struct fold_host *)a)->name, ((const struct fold_host *)b)->name);
}

static const struct map *find_map(const struct story *s, const char *host)
{
	for (size_t i = 0; i < s->map_count; i++)
		if (!strcmp(s->maps[i]->host, host))
			return s->maps[i];
	return NULL;
}

/* The hosts: Slurm's list, or else those that have spoken. */
static int view_hosts(struct view *v)
{
	const struct story *s = v->story;
	size_t most = s->facts ? s->facts->host_count : s->record_count + s->begin_count;
	size_t n = 0;

	v->hosts = calloc(most + 1, sizeof(*v->hosts));
	if (!v->hosts)
		return -ENOMEM;
	if (s->facts) {
		for (size_t i = 0; i < s->facts->host_count; i++)
			v->hosts[n++] =
				(struct fold_host){ s->facts->hosts[i], NULL, &s->facts->gpus[i] };
	} else {
		for (size_t i = 0; i < s->record_count; i++)
			v->hosts[n++].name = s->records[i]->node;
		for (size_t i = 0; i < s->begin_count; i++)
			v->hosts[n++].name = s->begins[i].node;
		qsort(v->hosts, n, sizeof(*v->hosts), by_name);
	}
	for (size_t i = 0; i < n; i++) {
		if (v->host_count && !strcmp(v->hosts[v->host_count - 1].name, v->hosts[i].name))
			continue;
		v->hosts[v->host_count] = v->hosts[i];
		v->hosts[v->host_count].map = find_map(s, v->hosts[i].name);
		v->host_count++;
	}
	return 0;
}

static struct step_view *find_step(struct view *v, uint32_t step)
{
	for (size_t i = v->step_count; i > 0; i--) /* they come in order: the last one, mostly */
		if (v->steps[i - 1].step == step)
			return &v->steps[i - 1];
	v->steps[v->step_count].step = step;
	return &v->steps[v->step_count++];
}

static int by_step_rank(const void *a, const void *b)
{
	uint64_t x = step_rank(((const struct step_view *)a)->step);
	uint64_t y = step_rank(((const struct step_view *)b)->step);

	return (x > y) - (x < y);
}

static int view_steps(struct view *v)
{
	const struct story *s = v->story;

	v->records = calloc(s->record_count + 1, sizeof(struct record *));
	v->steps = calloc(s->record_count + s->begin_count + 1, sizeof(*v->steps));
	if (!v->records || !v->steps)
		return -ENOMEM;
	for (size_t i = 0; i < s->record_count; i++)
		v->records[i] = s->records[i];
	qsort(v->records, s->record_count, sizeof(struct record *), by_step);
	for (size_t i = 0; i < s->record_count; i++) {
		const struct record *r = v->records[i];
		struct step_view *step = find_step(v, r->step);

		if (!step->records)
			step->records = &v->records[i];
		if (!step->record_count ||
		    strcmp(step->records[step->record_count - 1]->node, r->node) != 0)
			step->reported++;
		step->record_count++;
		step->nodes = r->node_count > step->nodes ? r->node_count : step->nodes;
	}
	for (size_t i = 0; i < s->begin_count; i++) {
		struct step_view *step = find_step(v, s->begins[i].step);

		if (s->begins[i].node_count > step->nodes)
			step->nodes = s->begins[i].node_count;
	}
	qsort(v->steps, v->step_count, sizeof(*v->steps), by_step_rank);
	return 0;
}

static void view_clear(struct view *v)
{
	free(v->hosts);
	free(v->records);
	free(v->steps);
}

static int view_make(struct view *v, const struct story *s)
{
	int rc;

	memset(v, 0, sizeof(*v));
	v->story = s;
	rc = view_hosts(v);
	rc = rc ? rc : view_steps(v);
	if (rc < 0)
		view_clear(v);
	return rc;
}

/* ---- state ---- */

const char *story_state_name(enum story_state state)
{
	static const char *const names[] = { "running", "partial", "final" };

	return names[state];
}

static bool complete(const struct view *v)
{
	for (size_t i = 0; i < v->step_count; i++)
		if (v->steps[i].reported < v->steps[i].nodes || !v->steps[i].nodes)
			return false;
	return v->step_count > 0;
}

static enum story_state state_of(const struct view *v)
{
	const struct job_facts *f = v->story->facts;

	if (f && !f->ended)
		return STORY_RUNNING;
	if (!f)
		return STORY_PARTIAL;
	if (complete(v))
		return STORY_FINAL;
	return f->end_s && v->story->now_ns / NS_PER_S - f->end_s >= STORY_FINAL_AFTER_S
		       ? STORY_FINAL
		       : STORY_PARTIAL;
}

bool story_complete(const struct story *s)
{
	struct view v;
	bool is;

	if (view_make(&v, s) < 0)
		return false;
	is = complete(&v);
	view_clear(&v);
	return is;
}

enum story_state story_state(const struct story *s)
{
	enum story_state state;
	struct view v;

	if (view_make(&v, s) < 0)
		return STORY_PARTIAL;
	state = state_of(&v);
	view_clear(&v);
	return state;
}

/* ---- units ---- */

static int descending(const void *a, const void *b)
{
	size_t x = *(const size_t *)a, y = *(const size_t *)b;

	return (x < y) - (x > y);
}

size_t story_fewest_units(const struct fabric *f, size_t hosts)
{
	size_t *sizes = calloc(f->unit_count + 1, sizeof(*sizes)), fewest = 0, held = 0;

	if (!sizes)
		return 0;
	for (size_t i = 0; i < f->host_count; i++)
		if (f->hosts[i].unit < f->unit_count)
			sizes[f->hosts[i].unit]++;
	qsort(sizes, f->unit_count, sizeof(*sizes), descending);
	for (size_t i = 0; i < f->unit_count && held < hosts; i++) {
		held += sizes[i];
		fewest++;
	}
	free(sizes);
	return held < hosts ? 0 : fewest;
}

/* How many units the hosts lie in; 0 when one of them is not in the fabric. */
static size_t units_used(const struct view *v)
{
	const struct fabric *f = v->story->fabric;
	bool *seen = calloc(f->unit_count + 1, sizeof(*seen));
	size_t used = 0;

	for (size_t i = 0; seen && i < v->host_count; i++) {
		size_t host = fabric_find_host(f, v->hosts[i].name);

		if (host == FABRIC_NONE || f->hosts[host].unit >= f->unit_count) {
			used = 0;
			break;
		}
		used += !seen[f->hosts[host].unit];
		seen[f->hosts[host].unit] = true;
	}
	free(seen);
	return used;
}

static int put_units(json_object *object, const struct view *v)
{
	size_t used, fewest;
	json_object *units;
	int rc;

	if (!v->story->fabric || !v->story->facts || !v->host_count)
		return 0;
	used = units_used(v);
	fewest = story_fewest_units(v->story->fabric, v->host_count);
	if (!used || !fewest)
		return 0;
	units = json_object_new_object();
	rc = put(object, "units", units);
	rc = rc ? rc : json_put_u64(units, "used", used);
	return rc ? rc : json_put_u64(units, "fewest", fewest);
}

static int put_class(json_object *object, const struct view *v)
{
	const struct story *s = v->story;

	for (size_t i = 0; i < s->begin_count; i++)
		if (s->begins[i].class && s->begins[i].class[0])
			return json_put_string(object, "class", s->begins[i].class);
	for (size_t i = 0; i < s->record_count; i++)
		if (s->records[i]->class && s->records[i]->class[0])
			return json_put_string(object, "class", s->records[i]->class);
	return 0;
}

/* ---- what a step's records add up to ---- */

static bool is_port(const char *device)
{
	return strchr(device, ':') != NULL;
}

/*
 * A node's total of one meaning. The step's own processes say more than the devices they share,
 * and the devices more than the node: adding them up would count the same bytes twice.
 */
static bool record_total(const struct record *r, enum meaning m, uint64_t *total)
{
	const struct record_value *step = record_find(r, "step", m),
				  *node = record_find(r, "node", m);
	bool known = false;

	*total = 0;
	if (step) {
		*total = step->total;
		return true;
	}
	for (size_t i = 0; i < r->value_count; i++) {
		const struct record_value *value = &r->values[i];

		if (value->meaning != m || value == node)
			continue;
		known = true;
		if (__builtin_add_overflow(*total, value->total, total))
			*total = UINT64_MAX;
	}
	if (known || !node)
		return known;
	*total = node->total;
	return true;
}

static bool step_total(const struct step_view *step, enum meaning m, uint64_t *total)
{
	bool known = false;
	uint64_t one;

	*total = 0;
	for (size_t i = 0; i < step->record_count; i++) {
		if (!record_total(step->records[i], m, &one))
			continue;
		known = true;
		if (__builtin_add_overflow(*total, one, total))
			*total = UINT64_MAX;
	}
	return known;
}

/* JSON numbers of ours are at most INT64_MAX. */
static int put_count(json_object *object, const char *key, uint64_t value)
{
	return json_put_u64(object, key, value > INT64_MAX ? INT64_MAX : value);
}

static bool small_total(enum meaning m)
{
	return m <= M_CONGESTION;
}

static int put_totals(json_object *object, const struct step_view *step, bool small)
{
	uint64_t total;
	int rc = 0;

	for (int m = 0; rc == 0 && m < M_COUNT; m++)
		if ((!small || small_total((enum meaning)m)) &&
		    step_total(step, (enum meaning)m, &total))
			rc = put_count(object, meaning_name((enum meaning)m), total);
	return rc;
}

/* The device with most of one meaning: {"node","device","total"}; nothing where all are 0. */
static int put_worst_of(json_object *worst, const struct step_view *step, enum meaning m)
{
	const struct record_value *most = NULL;
	const struct record *where = NULL;
	json_object *entry;
	int rc;

	for (size_t i = 0; i < step->record_count; i++) {
		const struct record *r = step->records[i];

		for (size_t k = 0; k < r->value_count; k++) {
			const struct record_value *value = &r->values[k];

			if (value->meaning != m || value->total <= (most ? most->total : 0))
				continue;
			most = value;
			where = r;
		}
	}
	if (!most)
		return 0;
	entry = json_object_new_object();
	rc = put(worst, meaning_name(m), entry);
	rc = rc ? rc : json_put_string(entry, "node", where->node);
	rc = rc ? rc : json_put_string(entry, "device", most->device);
	return rc ? rc : put_count(entry, "total", most->total);
}

static int put_worst(json_object *object, const struct step_view *step)
{
	json_object *worst = json_object_new_object();
	int rc = put(object, "worst", worst);

	for (int m = 0; rc == 0 && m < M_COUNT; m++)
		rc = put_worst_of(worst, step, (enum meaning)m);
	return rc;
}

/* ---- suspects ---- */

struct port_events { /* one port in one step */
	const struct record *record;
	const char *device;
	const struct record_value *retransmits, *errors; /* NULL unknown */
	uint64_t events;
};

static int most_events_first(const void *a, const void *b)
{
	const struct port_events *x = a, *y = b;
	int order;

	if (x->events != y->events)
		return x->events < y->events ? 1 : -1;
	order = strverscmp(x->record->node, y->record->node);
	return order ? order : strverscmp(x->device, y->device);
}

/* The values of a record are sorted by device: i is the first of its device. */
static bool first_of_port(const struct record *r, size_t i)
{
	return is_port(r->values[i].device) &&
	       (i == 0 || strcmp(r->values[i - 1].device, r->values[i].device) != 0);
}

static bool port_events(const struct record *r, const char *device, struct port_events *p)
{
	*p = (struct port_events){ .record = r, .device = device };
	p->retransmits = record_find(r, device, M_RETRANSMITS);
	p->errors = record_find(r, device, M_ERRORS);
	if (p->retransmits)
		p->events = p->retransmits->total;
	if (p->errors && __builtin_add_overflow(p->events, p->errors->total, &p->events))
		p->events = UINT64_MAX;
	/* A record that did not fit leaves out zeros first: such a port is still a peer without
	 * events. */
	return p->retransmits || p->errors || r->cut;
}

/* All ports of the step by events; malloc'ed, or NULL for none or without memory. */
static struct port_events *step_ports(const struct step_view *step, size_t *count)
{
	struct port_events *ports;
	size_t most = 0;

	*count = 0;
	for (size_t i = 0; i < step->record_count; i++)
		most += step->records[i]->value_count;
	ports = calloc(most + 1, sizeof(*ports));
	for (size_t i = 0; ports && i < step->record_count; i++)
		for (size_t k = 0; k < step->records[i]->value_count; k++)
			if (first_of_port(step->records[i], k))
				*count += port_events(step->records[i],
						      step->records[i]->values[k].device,
						      &ports[*count]);
	if (ports)
		qsort(ports, *count, sizeof(*ports), most_events_first);
	return ports;
}

static const struct map_port *find_port(const struct view *v, const char *node, const char *device)
{
	const struct map *m = NULL;
	char name[128];

	for (size_t i = 0; i < v->host_count && !m; i++)
		if (!strcmp(v->hosts[i].name, node))
			m = v->hosts[i].map;
	for (size_t i = 0; m && i < m->port_count; i++) {
		snprintf(name, sizeof(name), "%s:%d", m->ports[i].device, m->ports[i].port);
		if (!strcmp(name, device))
			return &m->ports[i];
	}
	return NULL;
}

static int put_where(json_object *entry, const struct map_port *p)
{
	int rc = 0;

	if (!p)
		return 0;
	if (p->guid)
		rc = json_put_guid(entry, "port_guid", p->guid);
	if (rc || p->leaf.source == LEAF_OPEN)
		return rc;
	if (p->leaf.name && p->leaf.name[0])
		rc = json_put_string(entry, "switch", p->leaf.name);
	if (rc == 0 && p->leaf.guid)
		rc = json_put_guid(entry, "switch_guid", p->leaf.guid);
	return rc ? rc : json_put_int(entry, "switch_port", p->leaf.port);
}

static json_object *suspect_json(const struct view *v, const struct port_events *p, uint64_t median)
{
	json_object *entry = json_object_new_object();
	int rc = entry ? json_put_string(entry, "node", p->record->node) : -ENOMEM;

	rc = rc ? rc : json_put_string(entry, "device", p->device);
	rc = rc ? rc : put_where(entry, find_port(v, p->record->node, p->device));
	if (rc == 0 && p->retransmits)
		rc = put_count(entry, "retransmits", p->retransmits->total);
	if (rc == 0 && p->errors)
		rc = put_count(entry, "errors", p->errors->total);
	rc = rc ? rc : put_count(entry, "median", median);
	if (rc == 0)
		return entry;
	json_object_put(entry);
	return NULL;
}

static int put_suspects(json_object *object, const struct view *v, const struct step_view *step,
			size_t max)
{
	size_t count, named = 0;
	struct port_events *ports = step_ports(step, &count);
	json_object *array = json_object_new_array();
	uint64_t median;
	int rc = ports && array ? 0 : -ENOMEM;

	median = rc == 0 && count ? ports[count / 2].events : 0; /* the lower one of two */
	for (size_t i = 0; rc == 0 && i < count && count >= STORY_SUSPECT_PEERS && named < max;
	     i++) {
		if (ports[i].events < STORY_SUSPECT_EVENTS ||
		    ports[i].events / STORY_SUSPECT_TIMES < median)
			break; /* sorted: no other one either */
		rc = append(array, suspect_json(v, &ports[i], median));
		named++;
	}
	free(ports);
	if (rc == 0 && named)
		return put(object, "suspects", array);
	json_object_put(array);
	return rc;
}

/* ---- a step ---- */

static int node_of_record(const void *node, const void *record)
{
	return strverscmp(node, (*(const struct record *const *)record)->node);
}

static bool step_has(const struct step_view *step, const char *node)
{
	return step->record_count && bsearch(node, step->records, step->record_count,
					     sizeof(struct record *), node_of_record);
}

static int append_missing(json_object *array, const struct view *v, const struct step_view *step)
{
	const struct story *s = v->story;
	size_t hosts = step->step == STEP_ID_BATCH && v->host_count ? 1 : v->host_count;
	int rc = 0;

	if (s->facts && step->nodes == hosts) {
		for (size_t i = 0; rc == 0 && i < hosts; i++)
			if (!step_has(step, v->hosts[i].name))
				rc = append(array, json_object_new_string(v->hosts[i].name));
		return rc;
	}
	for (size_t i = 0; rc == 0 && i < s->begin_count; i++)
		if (s->begins[i].step == step->step && !step_has(step, s->begins[i].node))
			rc = append(array, json_object_new_string(s->begins[i].node));
	return rc;
}

/*
 * Names of nodes that have not reported: known when the step ran on all of the job's nodes, when it
 * is the batch step (the first one), or when begins name them. Nothing when not all are known.
 */
static int put_missing(json_object *object, const struct view *v, const struct step_view *step)
{
	json_object *array = json_object_new_array();
	int rc = array ? append_missing(array, v, step) : -ENOMEM;

	if (rc == 0 && step->nodes &&
	    json_object_array_length(array) + step->reported == step->nodes)
		return put(object, "missing", array);
	json_object_put(array);
	return rc;
}

static int64_t elapsed_ns(const struct step_view *step)
{
	int64_t longest = 0;

	for (size_t i = 0; i < step->record_count; i++)
		if (step->records[i]->elapsed_ns > longest)
			longest = step->records[i]->elapsed_ns;
	return longest;
}

/* "ends": how many nodes say that the step ended that way; only what is known. */
static int put_ends(json_object *object, const struct step_view *step)
{
	json_object *ends = json_object_new_object();
	int rc = put(object, "ends", ends);

	for (size_t i = 0; rc == 0 && i < step->record_count; i++) {
		const char *how = step->records[i]->end;
		json_object *before = NULL;

		if (!how)
			continue;
		json_object_object_get_ex(ends, how, &before);
		rc = json_put_int(ends, how, before ? json_object_get_int64(before) + 1 : 1);
	}
	return rc;
}

static int put_partial(json_object *object, const struct step_view *step)
{
	json_object *array = json_object_new_array();
	size_t n = 0;
	int rc = array ? 0 : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < step->record_count && n < MAX_REASONS; i++) {
		const struct record *r = step->records[i];
		json_object *entry;

		if (!r->partial)
			continue;
		n++;
		entry = json_object_new_object();
		rc = append(array, entry);
		rc = rc ? rc : json_put_string(entry, "node", r->node);
		rc = rc ? rc : json_put_string(entry, "why", r->partial);
	}
	if (rc == 0 && n)
		return put(object, "partial", array);
	json_object_put(array);
	return rc;
}

static int put_step_head(json_object *object, const struct step_view *step, bool in_ms)
{
	char text[STEP_TEXT];
	int rc = json_put_string(object, "step", step_format(step->step, text));

	if (rc == 0 && step->record_count)
		rc = in_ms ? json_put_int(object, "elapsed_ms", elapsed_ns(step) / 1000000)
			   : json_put_int(object, "elapsed_ns", elapsed_ns(step));
	if (rc == 0 && step->nodes)
		rc = json_put_int(object, "nodes", step->nodes);
	return rc ? rc : json_put_u64(object, "reported", step->reported);
}

static int put_records(json_object *object, const struct step_view *step)
{
	json_object *array = json_object_new_array();
	int rc = put(object, "records", array);

	for (size_t i = 0; rc == 0 && i < step->record_count; i++)
		rc = append(array, record_to_json(step->records[i]));
	return rc;
}

static json_object *step_story(const struct view *v, const struct step_view *step,
			       const struct limits *l)
{
	json_object *object = json_object_new_object(), *totals = json_object_new_object();
	int rc = object ? put_step_head(object, step, false) : -ENOMEM;

	if (rc == 0 && l->missing)
		rc = put_missing(object, v, step);
	rc = rc ? rc : put_ends(object, step);
	rc = rc ? rc : put_partial(object, step);
	rc = rc ? rc : totals ? put_totals(totals, step, false) : -ENOMEM;
	rc = rc ? rc : put(object, "totals", json_object_get(totals));
	if (rc == 0 && l->worst)
		rc = put_worst(object, step);
	rc = rc ? rc : put_suspects(object, v, step, l->suspects);
	if (rc == 0 && l->records)
		rc = put_records(object, step);
	json_object_put(totals);
	if (rc == 0)
		return object;
	json_object_put(object);
	return NULL;
}

static json_object *step_field(const struct view *v, const struct step_view *step,
			       const struct limits *l)
{
	json_object *object = json_object_new_object();
	int rc = object ? put_step_head(object, step, true) : -ENOMEM;

	rc = rc ? rc : put_totals(object, step, l->small_totals);
	rc = rc ? rc : put_suspects(object, v, step, l->suspects);
	if (rc == 0)
		return object;
	json_object_put(object);
	return NULL;
}

/* The first max steps; "steps_more" says how many were left out. */
static int put_steps(json_object *object, const struct view *v, const struct limits *l,
		     json_object *(*make)(const struct view *, const struct step_view *,
					  const struct limits *))
{
	json_object *array = json_object_new_array();
	int rc = put(object, "steps", array);

	for (size_t i = 0; rc == 0 && i < v->step_count && i < l->steps; i++)
		rc = append(array, make(v, &v->steps[i], l));
	if (rc == 0 && v->step_count > l->steps)
		rc = json_put_u64(object, "steps_more", v->step_count - l->steps);
	return rc;
}

/* ---- the story ---- */

static int put_info(json_object *object, const struct view *v)
{
	const struct job_facts *f = v->story->facts;
	json_object *info = json_object_new_object(), *hosts;
	int rc = put(object, "job_info", info);

	if (rc == 0 && !f && v->story->record_count)
		rc = json_put_int(info, "uid", v->story->records[0]->uid);
	if (rc || !f)
		return rc;
	rc = json_put_int(info, "uid", f->uid);
	if (rc == 0 && f->user)
		rc = json_put_string(info, "user", f->user);
	if (rc == 0 && f->name)
		rc = json_put_string(info, "name", f->name);
	hosts = json_object_new_array();
	rc = rc ? (json_object_put(hosts), rc) : put(info, "hosts", hosts);
	for (size_t i = 0; rc == 0 && i < f->host_count; i++)
		rc = append(hosts, json_object_new_string(f->hosts[i]));
	rc = rc ? rc : json_put_string(info, "slurm_state", f->state);
	rc = rc ? rc : json_put_int(info, "submit_s", f->submit_s);
	if (rc == 0 && f->start_s)
		rc = json_put_int(info, "start_s", f->start_s);
	if (rc == 0 && f->ended && f->end_s)
		rc = json_put_int(info, "end_s", f->end_s);
	if (rc == 0 && f->restarts >= 0)
		rc = json_put_int(info, "restarts", f->restarts);
	if (rc == 0 && f->array)
		rc = json_put_int(info, "array_job", f->array_job);
	if (rc == 0 && f->array)
		rc = json_put_int(info, "array_task", f->array_task);
	return rc;
}

static int put_node_maps(json_object *object, const struct view *v)
{
	json_object *maps = json_object_new_object();
	int rc = put(object, "maps", maps);

	for (size_t i = 0; rc == 0 && i < v->host_count; i++)
		if (v->hosts[i].map)
			rc = put(maps, v->hosts[i].name, map_to_json(v->hosts[i].map));
	return rc;
}

static json_object *indexes_json(const struct job_gpus *g)
{
	json_object *array = json_object_new_array();
	int rc = array ? 0 : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < g->count; i++)
		rc = append(array, json_object_new_int(g->index[i]));
	if (rc == 0)
		return array;
	json_object_put(array);
	return NULL;
}

static int put_node_gpus(json_object *object, const struct view *v)
{
	json_object *gpus = json_object_new_object();
	int rc = put(object, "gpus", gpus);

	for (size_t i = 0; rc == 0 && i < v->host_count; i++)
		if (v->hosts[i].gpus && v->hosts[i].gpus->known)
			rc = put(gpus, v->hosts[i].name, indexes_json(v->hosts[i].gpus));
	return rc;
}

static int put_folded(json_object *object, const struct view *v, const struct limits *l)
{
	json_object *folded = json_object_new_object();
	int rc = put(object, "folded", folded);

	rc = rc ? rc : fold_put_patterns(folded, v->hosts, v->host_count, l->patterns);
	if (rc == 0 && l->rails)
		rc = fold_put_rails(folded, v->hosts, v->host_count, l->guids);
	return rc;
}

static json_object *make_story(const struct view *v, const struct limits *l, bool cut)
{
	json_object *object = json_object_new_object();
	int rc = object ? json_put_format(object, STORY_FORMAT, STORY_VERSION) : -ENOMEM;

	rc = rc ? rc : json_put_int(object, "job", v->story->job);
	rc = rc ? rc : json_put_string(object, "state", story_state_name(state_of(v)));
	rc = rc ? rc : put_info(object, v);
	rc = rc ? rc : put_class(object, v);
	rc = rc ? rc : put_units(object, v);
	rc = rc ? rc : put_folded(object, v, l);
	if (rc == 0 && l->node_maps)
		rc = put_node_maps(object, v);
	if (rc == 0 && l->node_gpus)
		rc = put_node_gpus(object, v);
	rc = rc ? rc : put_steps(object, v, l, step_story);
	if (rc == 0 && cut)
		rc = json_put_bool(object, "cut", true);
	if (rc == 0)
		return object;
	json_object_put(object);
	return NULL;
}

/* ---- the job field ---- */

static int put_field_nodes(json_object *object, const struct view *v)
{
	return v->story->facts && v->host_count ? json_put_u64(object, "nodes", v->host_count) : 0;
}

static json_object *make_field(const struct view *v, const struct limits *l, bool cut)
{
	json_object *object = json_object_new_object();
	enum story_state state = state_of(v);
	int rc = object ? json_put_int(object, "version", JOBFIELD_VERSION) : -ENOMEM;

	rc = rc ? rc : json_put_string(object, "state", story_state_name(state));
	rc = rc ? rc : put_class(object, v);
	rc = rc ? rc : put_field_nodes(object, v);
	rc = rc ? rc : put_units(object, v);
	if (rc == 0 && l->patterns)
		rc = fold_put_patterns(object, v->hosts, v->host_count, l->patterns);
	if (rc == 0 && l->rails)
		rc = fold_put_rails(object, v->hosts, v->host_count, l->guids);
	if (rc == 0 && state != STORY_RUNNING)
		rc = put_steps(object, v, l, step_field);
	if (rc == 0 && cut)
		rc = json_put_bool(object, "cut", true);
	if (rc == 0)
		return object;
	json_object_put(object);
	return NULL;
}

/* ---- fitting ---- */

/* Takes the first of the levels whose text has at most max bytes; the last one in any case. */
static json_object *fit(const struct story *s, const struct limits *levels, size_t count,
			size_t max,
			json_object *(*make)(const struct view *, const struct limits *, bool))
{
	json_object *object = NULL;
	struct view v;

	if (view_make(&v, s) < 0)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		char *text;
		bool fits;

		json_object_put(object);
		object = make(&v, &levels[i], i > 0);
		text = object ? json_line(object) : NULL;
		fits = !text || strlen(text) <= max;
		if (!text) {
			json_object_put(object);
			object = NULL;
		}
		free(text);
		if (fits)
			break;
	}
	view_clear(&v);
	return object;
}

#define ALL SIZE_MAX

json_object *story_json(const struct story *s, size_t max)
{
	static const struct limits levels[] = {
		{ true, true, true, true, true, true, true, ALL, ALL, MAX_SUSPECTS, false },
		{ false, true, true, true, true, true, true, ALL, ALL, MAX_SUSPECTS, false },
		{ false, false, true, true, true, true, true, ALL, ALL, MAX_SUSPECTS, false },
		{ false, false, false, true, false, true, true, 256, 1000, MAX_SUSPECTS, false },
		{ false, false, false, false, false, true, true, 64, 200, 5, false },
		{ false, false, false, false, false, false, false, 0, 100, 5, false },
	};

	return fit(s, levels, sizeof(levels) / sizeof(levels[0]), max, make_story);
}

json_object *story_field(const struct story *s, size_t max)
{
	static const struct limits levels[] = {
		{ .rails = true,
		  .guids = true,
		  .patterns = ALL,
		  .steps = ALL,
		  .suspects = MAX_SUSPECTS },
		{ .rails = true,
		  .guids = true,
		  .patterns = ALL,
		  .steps = 100,
		  .suspects = 5,
		  .small_totals = true },
		{ .rails = true,
		  .guids = true,
		  .patterns = 16,
		  .steps = 20,
		  .suspects = 3,
		  .small_totals = true },
		{ .rails = true, .patterns = 16, .steps = 20, .suspects = 3, .small_totals = true },
		{ .rails = true, .patterns = 4, .steps = 8, .suspects = 2, .small_totals = true },
		{ .patterns = 4, .steps = 8, .suspects = 2, .small_totals = true },
		{ .rails = true, .steps = 4, .suspects = 1, .small_totals = true },
		{ .patterns = 1, .steps = 4, .suspects = 1, .small_totals = true },
		{ .steps = 4, .suspects = 1, .small_totals = true },
		{ .steps = 0 },
	};

	return fit(s, levels, sizeof(levels) / sizeof(levels[0]), max, make_field);
}
