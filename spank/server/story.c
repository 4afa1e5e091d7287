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
#include "peers.h"
#include "text.h"

#define NS_PER_S INT64_C(1000000000)
#define MAX_SUSPECTS 10
#define MAX_ODD 4 /* kinds of nodes that are not like their peers */
#define MAX_REASONS 16
#define LEAST_MAP_BYTES 256 /* a map with a port in it has more */
#define MAX_ENDS 32	    /* different ones of one step */

struct tally_port { /* a port in a step, with its events */
	char *node, *device;
	bool retransmits_known, errors_known;
	uint64_t retransmits, errors, events;
};

struct tally_reason { /* why a node's record does not cover the step */
	char *node, *why;
};

struct tally_end {
	char *how;
	size_t count;
};

struct tally_step { /* what the records of one step add up to */
	uint32_t step;
	uint32_t nodes;		 /* 0 unknown */
	size_t records, partial; /* partial: those that do not cover the whole step */
	int64_t elapsed_ns;
	char **names; /* of the nodes; sorted and each once after settle() */
	size_t name_count, name_room;
	struct {
		uint64_t sum;
		size_t known; /* records that say it */
		bool overflow;
	} totals[M_COUNT];
	struct {
		uint64_t total; /* 0: none */
		char *node, *device;
	} worst[M_COUNT];
	struct tally_end ends[MAX_ENDS];
	size_t end_count;
	struct tally_reason reasons[MAX_REASONS]; /* by node */
	size_t reason_count;
	uint64_t *events; /* of all ports; most first after settle() */
	size_t event_count, event_room;
	struct tally_port ports[MAX_SUSPECTS]; /* those with most events, most first */
	size_t port_count;
};

struct tally {
	struct tally_step **steps; /* pointers: a step_view keeps one */
	size_t step_count;
	char *class;
	bool has_uid;
	uint32_t uid;
	bool settled;
};

struct step_view {
	uint32_t step;
	const struct tally_step *sum; /* NULL: no record */
	uint32_t nodes;		      /* 0 unknown */
	size_t reported;	      /* nodes with a record */
};

struct view {
	const struct story *story;
	struct fold_host *hosts;
	size_t host_count;
	const struct record **records; /* shown whole; sorted by step and node */
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

/* ---- the tally ---- */

struct tally *tally_new(void)
{
	return calloc(1, sizeof(struct tally));
}

static void free_step(struct tally_step *step)
{
	for (size_t i = 0; i < step->name_count; i++)
		free(step->names[i]);
	for (size_t m = 0; m < M_COUNT; m++) {
		free(step->worst[m].node);
		free(step->worst[m].device);
	}
	for (size_t i = 0; i < step->end_count; i++)
		free(step->ends[i].how);
	for (size_t i = 0; i < step->reason_count; i++) {
		free(step->reasons[i].node);
		free(step->reasons[i].why);
	}
	for (size_t i = 0; i < step->port_count; i++) {
		free(step->ports[i].node);
		free(step->ports[i].device);
	}
	free(step->names);
	free(step->events);
	free(step);
}

void tally_free(struct tally *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->step_count; i++)
		free_step(t->steps[i]);
	free(t->steps);
	free(t->class);
	free(t);
}

static size_t tally_records(const struct tally *t)
{
	size_t n = 0;

	for (size_t i = 0; t && i < t->step_count; i++)
		n += t->steps[i]->records;
	return n;
}

static struct tally_step *tally_step(struct tally *t, uint32_t step)
{
	struct tally_step **grown;

	for (size_t i = t->step_count; i > 0; i--) /* they come in order: the last one, mostly */
		if (t->steps[i - 1]->step == step)
			return t->steps[i - 1];
	grown = reallocarray(t->steps, t->step_count + 1, sizeof(*grown));
	if (!grown)
		return NULL;
	t->steps = grown;
	grown[t->step_count] = calloc(1, sizeof(**grown));
	if (!grown[t->step_count])
		return NULL;
	grown[t->step_count]->step = step;
	return grown[t->step_count++];
}

/* Makes room for one element more. */
static int make_room(void **array, size_t count, size_t *room, size_t size)
{
	size_t more = *room ? *room * 2 : 16;
	void *grown;

	if (count < *room)
		return 0;
	grown = reallocarray(*array, more, size);
	if (!grown)
		return -ENOMEM;
	*array = grown;
	*room = more;
	return 0;
}

static int add_name(struct tally_step *step, const char *node)
{
	int rc = make_room((void **)&step->names, step->name_count, &step->name_room,
			   sizeof(*step->names));

	if (rc < 0)
		return rc;
	step->names[step->name_count] = strdup(node);
	return step->names[step->name_count++] ? 0 : (step->name_count--, -ENOMEM);
}

static bool is_port(const char *device)
{
	return strchr(device, ':') != NULL;
}

/*
 * A node's total of one meaning. The step's own processes say more than the devices they share,
 * and the devices more than the node: adding them up would count the same bytes twice.
 */
static bool record_total(const struct record *r, enum meaning m, uint64_t *total, bool *overflow)
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
			*overflow = true;
	}
	if (known || !node)
		return known;
	*total = node->total;
	return true;
}

static void add_totals(struct tally_step *step, const struct record *r)
{
	for (int m = 0; m < M_COUNT; m++) {
		uint64_t total;

		if (!record_total(r, (enum meaning)m, &total, &step->totals[m].overflow))
			continue;
		step->totals[m].known++;
		if (__builtin_add_overflow(step->totals[m].sum, total, &step->totals[m].sum))
			step->totals[m].overflow = true;
	}
}

/* Puts copies of two names where two others were. */
static int set_names(char **node, char **device, const char *new_node, const char *new_device)
{
	char *a = strdup(new_node), *b = strdup(new_device);

	if (!a || !b) {
		free(a);
		free(b);
		return -ENOMEM;
	}
	free(*node);
	free(*device);
	*node = a;
	*device = b;
	return 0;
}

static int add_worst(struct tally_step *step, const struct record *r)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < r->value_count; i++) {
		const struct record_value *value = &r->values[i];
		bool more = value->total > step->worst[value->meaning].total;
		bool equal = value->total && value->total == step->worst[value->meaning].total;

		if (!more && !(equal && strverscmp(r->node, step->worst[value->meaning].node) < 0))
			continue;
		rc = set_names(&step->worst[value->meaning].node,
			       &step->worst[value->meaning].device, r->node, value->device);
		if (rc == 0)
			step->worst[value->meaning].total = value->total;
	}
	return rc;
}

static int add_end(struct tally_step *step, const char *how)
{
	size_t i = 0;

	while (i < step->end_count && strcmp(step->ends[i].how, how) != 0)
		i++;
	if (i == MAX_ENDS)
		return 0;
	if (i == step->end_count) {
		step->ends[i].how = strdup(how);
		if (!step->ends[i].how)
			return -ENOMEM;
		step->ends[i].count = 0;
		step->end_count++;
	}
	step->ends[i].count++;
	return 0;
}

/* The first MAX_REASONS by node. */
static int add_reason(struct tally_step *step, const char *node, const char *why)
{
	struct tally_reason reason = { NULL, NULL };
	size_t at = step->reason_count;

	while (at > 0 && strverscmp(step->reasons[at - 1].node, node) > 0)
		at--;
	if (at == MAX_REASONS)
		return 0;
	if (set_names(&reason.node, &reason.why, node, why) < 0)
		return -ENOMEM;
	if (step->reason_count == MAX_REASONS) {
		step->reason_count--;
		free(step->reasons[step->reason_count].node);
		free(step->reasons[step->reason_count].why);
	}
	memmove(&step->reasons[at + 1], &step->reasons[at],
		(step->reason_count - at) * sizeof(reason));
	step->reasons[at] = reason;
	step->reason_count++;
	return 0;
}

static bool most_events_first(const struct tally_port *a, const struct tally_port *b)
{
	int order;

	if (a->events != b->events)
		return a->events > b->events;
	order = strverscmp(a->node, b->node);
	return order ? order < 0 : strverscmp(a->device, b->device) < 0;
}

/* The MAX_SUSPECTS ports with most events. The names of port are copied. */
static int add_most(struct tally_step *step, struct tally_port port)
{
	size_t at = step->port_count;
	const char *node = port.node, *device = port.device;

	while (at > 0 && most_events_first(&port, &step->ports[at - 1]))
		at--;
	if (at == MAX_SUSPECTS)
		return 0;
	port.node = port.device = NULL;
	if (set_names(&port.node, &port.device, node, device) < 0)
		return -ENOMEM;
	if (step->port_count == MAX_SUSPECTS) {
		step->port_count--;
		free(step->ports[step->port_count].node);
		free(step->ports[step->port_count].device);
	}
	memmove(&step->ports[at + 1], &step->ports[at], (step->port_count - at) * sizeof(port));
	step->ports[at] = port;
	step->port_count++;
	return 0;
}

/* The values of a record are sorted by device: i is the first of its device. */
static bool first_of_port(const struct record *r, size_t i)
{
	return is_port(r->values[i].device) &&
	       (i == 0 || strcmp(r->values[i - 1].device, r->values[i].device) != 0);
}

static bool port_events(const struct record *r, char *device, struct tally_port *p)
{
	const struct record_value *retransmits = record_find(r, device, M_RETRANSMITS);
	const struct record_value *errors = record_find(r, device, M_ERRORS);

	*p = (struct tally_port){ .node = r->node, .device = device };
	p->retransmits_known = retransmits != NULL;
	p->errors_known = errors != NULL;
	p->retransmits = retransmits ? retransmits->total : 0;
	p->errors = errors ? errors->total : 0;
	if (__builtin_add_overflow(p->retransmits, p->errors, &p->events))
		p->events = UINT64_MAX;
	/* A record that did not fit leaves out zeros first: such a port is still a peer without
	 * events. */
	return retransmits || errors || r->cut;
}

static int add_ports(struct tally_step *step, const struct record *r)
{
	struct tally_port p;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < r->value_count; i++) {
		if (!first_of_port(r, i) || !port_events(r, r->values[i].device, &p))
			continue;
		rc = make_room((void **)&step->events, step->event_count, &step->event_room,
			       sizeof(*step->events));
		if (rc == 0)
			step->events[step->event_count++] = p.events;
		rc = rc ? rc : add_most(step, p);
	}
	return rc;
}

int tally_add(struct tally *t, const struct record *r)
{
	struct tally_step *step = tally_step(t, r->step);
	int rc = step ? add_name(step, r->node) : -ENOMEM;

	t->settled = false;
	if (rc < 0)
		return rc;
	step->records++;
	if (r->node_count > step->nodes)
		step->nodes = r->node_count;
	if (r->elapsed_ns > step->elapsed_ns)
		step->elapsed_ns = r->elapsed_ns;
	if (!t->has_uid) {
		t->has_uid = true;
		t->uid = r->uid;
	}
	if (!t->class && r->class && !(t->class = strdup(r->class)))
		return -ENOMEM;
	add_totals(step, r);
	rc = add_worst(step, r);
	rc = rc || !r->end ? rc : add_end(step, r->end);
	step->partial += r->partial != NULL;
	rc = rc || !r->partial ? rc : add_reason(step, r->node, r->partial);
	return rc ? rc : add_ports(step, r);
}

static int by_node_name(const void *a, const void *b)
{
	return strverscmp(*(char *const *)a, *(char *const *)b);
}

static int most_first(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x < y) - (x > y);
}

const char **tally_nodes(const struct tally *t, size_t *count)
{
	size_t most = 0, n = 0;
	const char **names;

	*count = 0;
	for (size_t i = 0; t && i < t->step_count; i++)
		most += t->steps[i]->name_count;
	names = calloc(most + 1, sizeof(*names));
	if (!names)
		return NULL;
	for (size_t i = 0; t && i < t->step_count; i++)
		for (size_t k = 0; k < t->steps[i]->name_count; k++)
			names[n++] = t->steps[i]->names[k];
	qsort(names, n, sizeof(*names), by_node_name);
	for (size_t i = 0; i < n; i++)
		if (*count == 0 || strcmp(names[*count - 1], names[i]) != 0)
			names[(*count)++] = names[i];
	return names;
}

/* Sorts what is read in order; each node is named once. */
static void settle(struct tally *t)
{
	for (size_t i = 0; t && !t->settled && i < t->step_count; i++) {
		struct tally_step *step = t->steps[i];
		size_t n = 0;

		qsort(step->names, step->name_count, sizeof(*step->names), by_node_name);
		for (size_t k = 0; k < step->name_count; k++) {
			if (n && !strcmp(step->names[n - 1], step->names[k]))
				free(step->names[k]);
			else
				step->names[n++] = step->names[k];
		}
		step->name_count = n;
		if (step->event_count)
			qsort(step->events, step->event_count, sizeof(*step->events), most_first);
	}
	if (t)
		t->settled = true;
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

static int by_map_host(const void *a, const void *b)
{
	return strcmp((*(const struct map *const *)a)->host, (*(const struct map *const *)b)->host);
}

static int host_of_map(const void *host, const void *map)
{
	return strcmp(host, (*(const struct map *const *)map)->host);
}

/* Gives each host its map. */
static int join_maps(struct view *v)
{
	const struct story *s = v->story;
	const struct map **sorted = calloc(s->map_count + 1, sizeof(*sorted));

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < s->map_count; i++)
		sorted[i] = s->maps[i];
	qsort(sorted, s->map_count, sizeof(*sorted), by_map_host);
	for (size_t i = 0; i < v->host_count; i++) {
		const struct map **found = bsearch(v->hosts[i].name, sorted, s->map_count,
						   sizeof(*sorted), host_of_map);

		v->hosts[i].map = found ? *found : NULL;
	}
	free(sorted);
	return 0;
}

/* The hosts: Slurm's list, or else those that have spoken. */
static int view_hosts(struct view *v)
{
	const struct story *s = v->story;
	size_t told = 0, n = 0;
	const char **names = tally_nodes(s->tally, &told);

	v->hosts = calloc((s->facts ? s->facts->host_count : told + s->begin_count) + 1,
			  sizeof(*v->hosts));
	if (!v->hosts || !names) {
		free(names);
		return -ENOMEM;
	}
	if (s->facts) {
		for (size_t i = 0; i < s->facts->host_count; i++)
			v->hosts[n++] =
				(struct fold_host){ s->facts->hosts[i], NULL, &s->facts->gpus[i] };
	} else {
		for (size_t i = 0; i < told; i++)
			v->hosts[n++].name = names[i];
		for (size_t i = 0; i < s->begin_count; i++)
			v->hosts[n++].name = s->begins[i].node;
		qsort(v->hosts, n, sizeof(*v->hosts), by_name);
	}
	for (size_t i = 0; i < n; i++) {
		if (v->host_count && !strcmp(v->hosts[v->host_count - 1].name, v->hosts[i].name))
			continue;
		v->hosts[v->host_count++] = v->hosts[i];
	}
	free(names);
	return join_maps(v);
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
	size_t known = s->tally ? s->tally->step_count : 0;

	v->records = calloc(s->record_count + 1, sizeof(struct record *));
	v->steps = calloc(known + s->begin_count + 1, sizeof(*v->steps));
	if (!v->records || !v->steps)
		return -ENOMEM;
	for (size_t i = 0; i < s->record_count; i++)
		v->records[i] = s->records[i];
	qsort(v->records, s->record_count, sizeof(struct record *), by_step);
	for (size_t i = 0; i < known; i++) {
		const struct tally_step *sum = s->tally->steps[i];

		v->steps[v->step_count++] =
			(struct step_view){ sum->step, sum, sum->nodes, sum->name_count };
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
	settle(s->tally);
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

/* What ran on the job's other nodes alone is not known here. */
static bool others_are_silent(const struct view *v)
{
	return v->story->one_node && v->story->facts && v->host_count > 1;
}

static bool complete(const struct view *v)
{
	if (others_are_silent(v))
		return false;
	for (size_t i = 0; i < v->step_count; i++)
		if (v->steps[i].reported < v->steps[i].nodes || !v->steps[i].nodes)
			return false;
	return v->step_count > 0;
}

static enum story_state state_of(const struct view *v)
{
	const struct job_facts *f = v->story->facts;
	int64_t end_ns;

	if (f && !f->ended)
		return STORY_RUNNING;
	if (!f)
		return STORY_PARTIAL;
	if (complete(v))
		return STORY_FINAL;
	end_ns = f->end_s ? f->end_s * NS_PER_S : v->story->last_ns;
	return v->story->now_ns - end_ns >= STORY_FINAL_AFTER_S * NS_PER_S ? STORY_FINAL
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

static int fewest_units(const struct fabric *f, size_t hosts, size_t *fewest)
{
	size_t count;
	struct fabric_unit_size *sizes = fabric_unit_sizes(f, &count);

	*fewest = sizes ? fabric_fewest_units(sizes, count, (uint32_t)hosts) : 0;
	if (!sizes && f->unit_count)
		return -ENOMEM;
	free(sizes);
	return 0;
}

/* How many units the hosts lie in; 0 when one of them is not in the fabric. */
static int units_used(const struct view *v, size_t *used)
{
	const struct fabric *f = v->story->fabric;
	bool *seen = calloc(f->unit_count + 1, sizeof(*seen));

	*used = 0;
	if (!seen)
		return -ENOMEM;
	for (size_t i = 0; i < v->host_count; i++) {
		size_t host = fabric_find_host(f, v->hosts[i].name);

		if (host == FABRIC_NONE || f->hosts[host].unit >= f->unit_count) {
			*used = 0;
			break;
		}
		*used += !seen[f->hosts[host].unit];
		seen[f->hosts[host].unit] = true;
	}
	free(seen);
	return 0;
}

static int put_units(json_object *object, const struct view *v)
{
	size_t used, fewest;
	json_object *units;
	int rc;

	if (!v->story->fabric || !v->story->facts || !v->host_count)
		return 0;
	rc = units_used(v, &used);
	rc = rc ? rc : fewest_units(v->story->fabric, v->host_count, &fewest);
	if (rc || !used || !fewest)
		return rc;
	units = json_object_new_object();
	rc = json_put_value(object, "units", units);
	rc = rc ? rc : json_put_u64(units, "used", used);
	return rc ? rc : json_put_u64(units, "fewest", fewest);
}

/* A class is shown in public and may have been forged: other bytes than its own are not passed on.
 */
static bool class_good(const char *class)
{
	return class && class[0] && strlen(class) <= PACKET_WORD &&
	       strspn(class, "abcdefghijklmnopqrstuvwxyz0123456789,=-") == strlen(class);
}

static int put_class(json_object *object, const struct view *v)
{
	const struct story *s = v->story;

	for (size_t i = 0; i < s->begin_count; i++)
		if (class_good(s->begins[i].class))
			return json_put_string(object, "class", s->begins[i].class);
	if (s->tally && class_good(s->tally->class))
		return json_put_string(object, "class", s->tally->class);
	return 0;
}

/* ---- what a step's records say together ---- */

/*
 * False when it is not known, or more than a number can say. Nothing counted by some while others
 * don't know is not nothing.
 */
static bool step_total(const struct step_view *step, enum meaning m, uint64_t *total)
{
	const struct tally_step *sum = step->sum;

	if (!sum || !sum->totals[m].known || sum->totals[m].overflow)
		return false;
	*total = sum->totals[m].sum;
	if (*total == 0 && sum->totals[m].known < sum->records)
		return false;
	return *total <= INT64_MAX; /* JSON numbers of ours are at most that */
}

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

/* "unknown_on": how many of the nodes' records do not know a total that is there. */
static int put_unknown_on(json_object *object, const struct step_view *step, bool small)
{
	json_object *few = NULL;
	uint64_t total;
	int rc = 0;

	for (int m = 0; rc == 0 && m < M_COUNT; m++) {
		size_t known;

		if ((small && !small_total((enum meaning)m)) ||
		    !step_total(step, (enum meaning)m, &total))
			continue;
		known = step->sum->totals[m].known;
		if (known == step->sum->records)
			continue;
		if (!few) {
			few = json_object_new_object();
			rc = json_put_value(object, "unknown_on", few);
		}
		rc = rc ? rc
			: json_put_u64(few, meaning_name((enum meaning)m),
				       step->sum->records - known);
	}
	return rc;
}

/* The device with most of one meaning: {"node","device","total"}; nothing where all are 0. */
static int put_worst_of(json_object *worst, const struct tally_step *sum, enum meaning m)
{
	json_object *entry;
	int rc;

	if (!sum->worst[m].total)
		return 0;
	entry = json_object_new_object();
	rc = json_put_value(worst, meaning_name(m), entry);
	rc = rc ? rc : json_put_string(entry, "node", sum->worst[m].node);
	rc = rc ? rc : json_put_string(entry, "device", sum->worst[m].device);
	return rc ? rc : put_count(entry, "total", sum->worst[m].total);
}

static int put_worst(json_object *object, const struct step_view *step)
{
	json_object *worst = json_object_new_object();
	int rc = json_put_value(object, "worst", worst);

	for (int m = 0; rc == 0 && step->sum && m < M_COUNT; m++)
		rc = put_worst_of(worst, step->sum, (enum meaning)m);
	return rc;
}

/* ---- suspects ---- */

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

static json_object *suspect_json(const struct view *v, const struct tally_port *p, uint64_t median)
{
	json_object *entry = json_object_new_object();
	int rc = entry ? json_put_string(entry, "node", p->node) : -ENOMEM;

	rc = rc ? rc : json_put_string(entry, "device", p->device);
	rc = rc ? rc : put_where(entry, find_port(v, p->node, p->device));
	if (rc == 0 && p->retransmits_known)
		rc = put_count(entry, "retransmits", p->retransmits);
	if (rc == 0 && p->errors_known)
		rc = put_count(entry, "errors", p->errors);
	rc = rc ? rc : put_count(entry, "median", median);
	if (rc == 0)
		return entry;
	json_object_put(entry);
	return NULL;
}

static int put_suspects(json_object *object, const struct view *v, const struct step_view *step,
			size_t max)
{
	const struct tally_step *sum = step->sum;
	json_object *array;
	uint64_t median;
	size_t named = 0;
	int rc;

	if (!sum || sum->event_count < STORY_SUSPECT_PEERS)
		return 0;
	array = json_object_new_array();
	rc = array ? 0 : -ENOMEM;
	median = sum->events[sum->event_count / 2]; /* the lower one of two */
	for (size_t i = 0; rc == 0 && i < sum->port_count && named < max; i++) {
		const struct tally_port *p = &sum->ports[i];

		if (p->events < STORY_SUSPECT_EVENTS || p->events / STORY_SUSPECT_TIMES < median)
			break; /* sorted: no other one either */
		rc = json_append(array, suspect_json(v, p, median));
		named++;
	}
	if (rc == 0 && named)
		return json_put_value(object, "suspects", array);
	json_object_put(array);
	return rc;
}

/* ---- a step ---- */

static int node_of_name(const void *node, const void *name)
{
	return strverscmp(node, *(char *const *)name);
}

static bool step_has(const struct step_view *step, const char *node)
{
	return step->sum &&
	       bsearch(node, step->sum->names, step->sum->name_count, sizeof(char *), node_of_name);
}

static int append_missing(json_object *array, const struct view *v, const struct step_view *step)
{
	const struct story *s = v->story;
	size_t hosts = step->step == STEP_ID_BATCH && v->host_count ? 1 : v->host_count;
	int rc = 0;

	if (s->facts && step->nodes == hosts) {
		for (size_t i = 0; rc == 0 && i < hosts; i++)
			if (!step_has(step, v->hosts[i].name))
				rc = json_append(array, json_object_new_string(v->hosts[i].name));
		return rc;
	}
	for (size_t i = 0; rc == 0 && i < s->begin_count; i++)
		if (s->begins[i].step == step->step && !step_has(step, s->begins[i].node))
			rc = json_append(array, json_object_new_string(s->begins[i].node));
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
		return json_put_value(object, "missing", array);
	json_object_put(array);
	return rc;
}

/* "ends": how many nodes say that the step ended that way; only what is known. */
static int put_ends(json_object *object, const struct step_view *step)
{
	json_object *ends = json_object_new_object();
	int rc = json_put_value(object, "ends", ends);

	for (size_t i = 0; rc == 0 && step->sum && i < step->sum->end_count; i++)
		rc = json_put_u64(ends, step->sum->ends[i].how, step->sum->ends[i].count);
	return rc;
}

static int put_partial(json_object *object, const struct step_view *step)
{
	json_object *array;
	int rc;

	if (!step->sum || !step->sum->reason_count)
		return 0;
	array = json_object_new_array();
	rc = json_put_value(object, "partial", array);
	for (size_t i = 0; rc == 0 && i < step->sum->reason_count; i++) {
		json_object *entry = json_object_new_object();

		rc = json_append(array, entry);
		rc = rc ? rc : json_put_string(entry, "node", step->sum->reasons[i].node);
		rc = rc ? rc : json_put_string(entry, "why", step->sum->reasons[i].why);
	}
	return rc;
}

static int put_step_head(json_object *object, const struct step_view *step, bool in_ms)
{
	char text[STEP_TEXT];
	int rc = json_put_string(object, "step", step_format(step->step, text));

	if (rc == 0 && step->sum)
		rc = in_ms ? json_put_int(object, "elapsed_ms", step->sum->elapsed_ns / 1000000)
			   : json_put_int(object, "elapsed_ns", step->sum->elapsed_ns);
	if (rc == 0 && step->nodes)
		rc = json_put_int(object, "nodes", step->nodes);
	return rc ? rc : json_put_u64(object, "reported", step->reported);
}

static int put_records(json_object *object, const struct view *v, const struct step_view *step)
{
	json_object *array = json_object_new_array();
	int rc = json_put_value(object, "records", array);

	for (size_t i = 0; rc == 0 && i < v->story->record_count; i++)
		if (v->records[i]->step == step->step)
			rc = json_append(array, record_to_json(v->records[i]));
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
	rc = rc ? rc : json_put_value(object, "totals", json_object_get(totals));
	rc = rc ? rc : put_unknown_on(object, step, false);
	if (rc == 0 && l->worst)
		rc = put_worst(object, step);
	rc = rc ? rc : put_suspects(object, v, step, l->suspects);
	if (rc == 0 && l->records)
		rc = put_records(object, v, step);
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

	if (rc == 0 && step->sum && step->sum->partial)
		rc = json_put_u64(object, "partial", step->sum->partial);
	rc = rc ? rc : put_totals(object, step, l->small_totals);
	rc = rc ? rc : put_unknown_on(object, step, l->small_totals);
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
	int rc = json_put_value(object, "steps", array);

	for (size_t i = 0; rc == 0 && i < v->step_count && i < l->steps; i++)
		rc = json_append(array, make(v, &v->steps[i], l));
	if (rc == 0 && v->step_count > l->steps)
		rc = json_put_u64(object, "steps_more", v->step_count - l->steps);
	return rc;
}

/* ---- the story ---- */

static int put_info(json_object *object, const struct view *v)
{
	const struct job_facts *f = v->story->facts;
	json_object *info = json_object_new_object(), *hosts;
	int rc = json_put_value(object, "job_info", info);

	if (rc == 0 && !f && v->story->tally && v->story->tally->has_uid)
		rc = json_put_int(info, "uid", v->story->tally->uid);
	if (rc || !f)
		return rc;
	rc = json_put_int(info, "uid", f->uid);
	if (rc == 0 && f->user)
		rc = json_put_string(info, "user", f->user);
	if (rc == 0 && f->name)
		rc = json_put_string(info, "name", f->name);
	hosts = json_object_new_array();
	rc = rc ? (json_object_put(hosts), rc) : json_put_value(info, "hosts", hosts);
	for (size_t i = 0; rc == 0 && i < f->host_count; i++)
		rc = json_append(hosts, json_object_new_string(f->hosts[i]));
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
	int rc = json_put_value(object, "maps", maps);

	for (size_t i = 0; rc == 0 && i < v->host_count; i++)
		if (v->hosts[i].map)
			rc = json_put_value(maps, v->hosts[i].name, map_to_json(v->hosts[i].map));
	return rc;
}

static json_object *indexes_json(const struct job_gpus *g)
{
	json_object *array = json_object_new_array();
	int rc = array ? 0 : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < g->count; i++)
		rc = json_append(array, json_object_new_int(g->index[i]));
	if (rc == 0)
		return array;
	json_object_put(array);
	return NULL;
}

static int put_node_gpus(json_object *object, const struct view *v)
{
	json_object *gpus = json_object_new_object();
	int rc = json_put_value(object, "gpus", gpus);

	for (size_t i = 0; rc == 0 && i < v->host_count; i++)
		if (v->hosts[i].gpus && v->hosts[i].gpus->known)
			rc = json_put_value(gpus, v->hosts[i].name, indexes_json(v->hosts[i].gpus));
	return rc;
}

static int put_folded(json_object *object, const struct view *v, const struct limits *l)
{
	json_object *folded = json_object_new_object();
	int rc = json_put_value(object, "folded", folded);

	rc = rc ? rc : fold_put_patterns(folded, v->hosts, v->host_count, l->patterns);
	if (rc == 0 && l->rails)
		rc = fold_put_rails(folded, v->hosts, v->host_count, l->guids);
	return rc ? rc : peers_put(folded, v->hosts, v->host_count, MAX_ODD);
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

/* "reported" beside it: all that is said stands on so many of them. */
static int put_field_nodes(json_object *object, const struct view *v)
{
	int rc =
		v->story->facts && v->host_count ? json_put_u64(object, "nodes", v->host_count) : 0;

	return rc || !others_are_silent(v) ? rc : json_put_u64(object, "reported", 1);
}

static json_object *make_field(const struct view *v, const struct limits *l, bool cut)
{
	json_object *object = json_object_new_object();
	enum story_state state = state_of(v);
	int rc = object ? json_put_int(object, "version", JOBFIELD_VERSION) : -ENOMEM;

	rc = rc ? rc : json_put_string(object, "state", story_state_name(state));
	if (rc == 0 && state != STORY_RUNNING)
		rc = json_put_u64(object, "records", tally_records(v->story->tally));
	rc = rc ? rc : put_class(object, v);
	rc = rc ? rc : put_field_nodes(object, v);
	rc = rc ? rc : put_units(object, v);
	if (rc == 0 && l->patterns)
		rc = fold_put_patterns(object, v->hosts, v->host_count, l->patterns);
	if (rc == 0 && l->rails)
		rc = fold_put_rails(object, v->hosts, v->host_count, l->guids);
	if (rc == 0 && l->patterns)
		rc = peers_put(object, v->hosts, v->host_count, MAX_ODD);
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

/* Too long for certain: what would be written is not worth its making. */
static bool hopeless(const struct view *v, const struct limits *l, size_t max)
{
	if (l->records && v->story->records_left_out)
		return true;
	return l->node_maps && v->story->map_count > max / LEAST_MAP_BYTES;
}

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

		if (hopeless(&v, &levels[i], max))
			continue;
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
