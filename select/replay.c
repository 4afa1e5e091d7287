/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * replay.c - sfabric-replay: what a stream of jobs would have got from stock Slurm and from us.
 *
 * A stream (jobs.h) is run through a cluster that starts jobs by priority with EASY backfill: what
 * can't start blocks only those behind it that would delay it. All policies see the same jobs, the
 * same nodes out of use and the same suspect ones, and a job's run time does not depend on where it
 * is: so the tables tell of placement alone. Times are the stream's, scaled to the load asked for.
 */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric.h"
#include "io.h"
#include "jobs.h"
#include "place.h"
#include "stock.h"
#include "text.h"

#define DEPTH 100 /* jobs behind the first that backfill tries (bf_max_job_test has 500) */

enum policy { LINEAR, TREE22, TREE24, OURS, POLICIES };

static const char *const policy_names[POLICIES] = { "linear", "tree22", "tree24", "ours" };

struct options {
	const char *swf, *sacct, *fabric, *decide;
	uint32_t pods, units, nodes, per_node;
	size_t jobs;
	double load, down, suspect, share, wait_s;
	uint64_t seed;
	bool bench;
	bool policy[POLICIES + 1]; /* the last one: ours with a bounded wait */
	uint32_t pod_over;
};

/* ---- the cluster ---- */

struct cluster {
	struct place_shape shape;
	uint32_t *unit_of, *pod_of, *group_of, *parent;
	struct place_model *model;
	struct place_state *state;
	struct stock *stock;
	bool *up, *suspect;
	uint32_t *gpus;			 /* of a node, in use */
	uint32_t per_node, usable, free; /* free: wholly */
	uint32_t unit_size, pod_size;	 /* the largest ones */
};

static void cluster_clear(struct cluster *c)
{
	place_state_free(c->state);
	place_model_free(c->model);
	stock_free(c->stock);
	free(c->unit_of);
	free(c->pod_of);
	free(c->group_of);
	free(c->parent);
	free(c->up);
	free(c->suspect);
	free(c->gpus);
}

static uint32_t *numbers(size_t count)
{
	return calloc(count + 1, sizeof(uint32_t));
}

static int shape_tree(struct cluster *c, const struct options *o)
{
	struct place_shape *s = &c->shape;

	s->pods = o->pods;
	s->units = o->pods * o->units;
	s->nodes = s->units * o->nodes;
	c->unit_of = numbers(s->nodes);
	c->pod_of = numbers(s->units);
	if (!c->unit_of || !c->pod_of)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->nodes; i++)
		c->unit_of[i] = i / o->nodes;
	for (uint32_t i = 0; i < s->units; i++)
		c->pod_of[i] = i / o->units;
	return 0;
}

/* The hosts of a fabric that are in a unit, unit by unit; one switch is above all its pods. */
static int shape_fabric(struct cluster *c, const char *path, struct err *err)
{
	struct fabric *f = fabric_load(path, err);
	struct place_shape *s = &c->shape;

	if (!f)
		return -errno;
	s->pods = (uint32_t)f->pod_count;
	s->units = (uint32_t)f->unit_count;
	c->unit_of = numbers(f->host_count);
	c->pod_of = numbers(s->units);
	for (size_t u = 0; c->unit_of && c->pod_of && u < f->unit_count; u++) {
		c->pod_of[u] = (uint32_t)f->units[u].pod;
		for (size_t i = 0; i < f->host_count; i++)
			if (f->hosts[i].unit == u)
				c->unit_of[s->nodes++] = (uint32_t)u;
	}
	fabric_free(f);
	return c->unit_of && c->pod_of ? 0 : -ENOMEM;
}

static void find_sizes(struct cluster *c)
{
	uint32_t *unit = numbers(c->shape.units), *pod = numbers(c->shape.pods);

	for (uint32_t i = 0; unit && pod && i < c->shape.nodes; i++) {
		uint32_t u = c->unit_of[i], p = c->pod_of[u];

		if (++unit[u] > c->unit_size)
			c->unit_size = unit[u];
		if (++pod[p] > c->pod_size)
			c->pod_size = pod[p];
	}
	free(unit);
	free(pod);
}

static void set_node(struct cluster *c, uint32_t node, bool free)
{
	place_set(c->state, node, free ? PLACE_FREE : PLACE_BUSY);
	stock_set(c->stock, node, free);
	c->free += free ? 1 : UINT32_MAX;
}

static uint32_t draw(uint64_t *seed, uint32_t below)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((*seed >> 33) % below);
}

static void draw_nodes(struct cluster *c, const struct options *o)
{
	uint64_t seed = o->seed * 77 + 3;
	uint32_t down = (uint32_t)(o->down * c->shape.nodes);
	uint32_t suspect = (uint32_t)(o->suspect * c->shape.nodes);

	for (uint32_t i = 0; i < c->shape.nodes; i++)
		c->up[i] = true;
	while (down) {
		uint32_t i = draw(&seed, c->shape.nodes);

		down -= c->up[i];
		c->up[i] = false;
	}
	while (suspect) {
		uint32_t i = draw(&seed, c->shape.nodes);

		suspect -= c->up[i] && !c->suspect[i];
		c->suspect[i] |= c->up[i];
	}
	for (uint32_t i = 0; i < c->shape.nodes; i++) {
		if (!c->up[i])
			continue;
		set_node(c, i, true);
		place_suspect(c->state, i, c->suspect[i]);
		c->usable++;
	}
}

static int cluster_make(struct cluster *c, const struct options *o, struct err *err)
{
	struct place_shape *s = &c->shape;
	int rc = o->fabric ? shape_fabric(c, o->fabric, err) : shape_tree(c, o);

	if (rc < 0)
		return err->text[0] ? rc : err_set(err, ENOMEM, "out of memory");
	c->group_of = numbers(s->pods);
	c->parent = numbers(1);
	c->up = calloc((size_t)s->nodes + 1, sizeof(bool));
	c->suspect = calloc((size_t)s->nodes + 1, sizeof(bool));
	c->gpus = numbers(s->nodes);
	if (!c->group_of || !c->parent || !c->up || !c->suspect || !c->gpus || s->nodes == 0)
		return err_set(err, ENOMEM, "out of memory, or no nodes");
	c->parent[0] = PLACE_NONE;
	s->groups = 1;
	s->unit_of = c->unit_of;
	s->pod_of = c->pod_of;
	s->group_of = c->group_of;
	s->parent = c->parent;
	s->pod_over = o->pod_over;
	c->per_node = o->per_node;
	c->model = place_model_make(s, err);
	if (!c->model)
		return -ENOMEM;
	c->state = place_state_make(c->model);
	c->stock = stock_make(s);
	if (!c->state || !c->stock)
		return err_set(err, ENOMEM, "out of memory");
	find_sizes(c);
	draw_nodes(c, o);
	return 0;
}

/* ---- one run ---- */

struct running {
	const struct job *job;
	uint32_t *nodes;
	double end_s, limit_s; /* when it ends, and when it has to */
};

struct waiting {
	const struct job *job;
	double first_s; /* when it could have started; negative: not yet */
};

struct totals {
	double wait_s, slowdown, used_s; /* used: node-seconds */
	double units, ideal, fits_pod_s, crossing_s, multi_s, suspect_s;
	size_t jobs, multi, fits_unit, split_unit, suspect, decisions;
	double decide_us;
};

struct run {
	struct cluster *c;
	const struct options *o;
	enum policy policy;
	double budget_s; /* to wait for a better placement */
	double now_s;
	struct running *running;
	size_t running_count;
	struct waiting *queue; /* the next to start first */
	size_t queue_count;
	uint32_t *nodes;
	struct totals t;
};

static double us_since(int64_t begin_ns)
{
	return (double)(io_mono_ns() - begin_ns) / 1000;
}

/* A node that is in use by others and has enough GPUs left, the fullest one; or one that is free.
 */
static bool choose_shared(struct run *r, uint32_t gpus)
{
	const struct cluster *c = r->c;
	uint32_t best = PLACE_NONE;

	for (uint32_t i = 0; i < c->shape.nodes; i++)
		if (c->up[i] && c->gpus[i] && c->gpus[i] + gpus <= c->per_node &&
		    (best == PLACE_NONE || c->gpus[i] > c->gpus[best]))
			best = i;
	r->nodes[0] = best;
	return best != PLACE_NONE;
}

/* 1: r->nodes are the job's, 0: there are none, or it waits for better ones. */
static int choose(struct run *r, struct waiting *w)
{
	static const enum stock_rules rules[] = { STOCK_LINEAR, STOCK_22_05, STOCK_24_11 };
	uint32_t n = w->job->nodes;
	struct place_request q = { .min = n, .max = n, .class = PLACE_COMPACT };
	struct place_result result;
	int64_t begin_ns;
	bool good;

	if (w->job->gpus && choose_shared(r, w->job->gpus))
		return 1;
	if (n > r->c->free)
		return 0;
	if (w->first_s < 0)
		w->first_s = r->now_s;
	begin_ns = io_mono_ns();
	q.wait = r->now_s - w->first_s < r->budget_s;
	good = r->policy == OURS ? place_decide(r->c->state, &q, &result, r->nodes, NULL) == 0
				 : stock_choose(r->c->stock, rules[r->policy], n, r->nodes);
	r->t.decide_us += us_since(begin_ns);
	r->t.decisions++;
	return good;
}

/* How many different groups the nodes are in: group[] of each node's unit, or the unit itself. */
static uint32_t count_groups(const struct run *r, uint32_t n, const uint32_t *group, uint32_t limit)
{
	uint8_t *seen = calloc(limit, 1);
	uint32_t count = 0;

	for (uint32_t i = 0; seen && i < n; i++) {
		uint32_t at = r->c->unit_of[r->nodes[i]];

		at = group ? group[at] : at;
		count += !seen[at];
		seen[at] = 1;
	}
	free(seen);
	return count;
}

static void count_start(struct run *r, const struct job *job)
{
	const struct cluster *c = r->c;
	double used_s = job->run_s * job->nodes, wait_s = r->now_s - job->submit_s, slowdown;
	uint32_t units, pods, touched = 0;

	slowdown = (wait_s + job->run_s) / fmax(job->run_s, 600);
	r->t.jobs++;
	r->t.wait_s += wait_s;
	r->t.slowdown += slowdown < 1 ? 1 : slowdown;
	r->t.used_s += used_s;
	if (job->nodes == 1)
		return;
	units = count_groups(r, job->nodes, NULL, c->shape.units);
	pods = count_groups(r, job->nodes, c->pod_of, c->shape.pods);
	for (uint32_t i = 0; i < job->nodes; i++)
		touched += c->suspect[r->nodes[i]];
	r->t.multi++;
	r->t.multi_s += used_s;
	r->t.units += units;
	r->t.ideal += (job->nodes + c->unit_size - 1) / c->unit_size;
	r->t.suspect += touched > 0;
	r->t.suspect_s += touched ? used_s : 0;
	r->t.fits_unit += job->nodes <= c->unit_size;
	r->t.split_unit += job->nodes <= c->unit_size && units > 1;
	if (job->nodes <= c->pod_size) {
		r->t.fits_pod_s += used_s;
		r->t.crossing_s += pods > 1 ? used_s : 0;
	}
}

static void use_node(struct cluster *c, uint32_t node, uint32_t gpus)
{
	if (c->gpus[node] == 0)
		set_node(c, node, false);
	c->gpus[node] += gpus;
}

static void leave_node(struct cluster *c, uint32_t node, uint32_t gpus)
{
	c->gpus[node] -= gpus;
	if (c->gpus[node] == 0)
		set_node(c, node, true);
}

static uint32_t gpus_of(const struct run *r, const struct job *job)
{
	return job->gpus ? job->gpus : r->c->per_node;
}

static int start(struct run *r, const struct job *job)
{
	struct running *new = &r->running[r->running_count];

	new->nodes = numbers(job->nodes);
	if (!new->nodes)
		return -ENOMEM;
	memcpy(new->nodes, r->nodes, job->nodes * sizeof(*new->nodes));
	new->job = job;
	new->end_s = r->now_s + job->run_s;
	new->limit_s = r->now_s + job->limit_s;
	r->running_count++;
	count_start(r, job);
	for (uint32_t i = 0; i < job->nodes; i++)
		use_node(r->c, new->nodes[i], gpus_of(r, job));
	return 0;
}

static void end_jobs(struct run *r)
{
	for (size_t i = 0; i < r->running_count;) {
		struct running *old = &r->running[i];

		if (old->end_s > r->now_s) {
			i++;
			continue;
		}
		for (uint32_t n = 0; n < old->job->nodes; n++)
			leave_node(r->c, old->nodes[n], gpus_of(r, old->job));
		free(old->nodes);
		*old = r->running[--r->running_count];
	}
}

static int by_limit(const void *a, const void *b)
{
	const struct running *x = a, *y = b;

	return x->limit_s < y->limit_s ? -1 : x->limit_s > y->limit_s;
}

/* When the first job can start at the latest, and how many nodes it leaves over then. */
static double find_shadow(struct run *r, uint32_t *spare)
{
	const struct waiting *w = &r->queue[0];
	uint32_t free = r->c->free;

	*spare = free > w->job->nodes ? free - w->job->nodes : 0;
	if (free >= w->job->nodes) /* it waits for a better placement */
		return w->first_s + r->budget_s;
	qsort(r->running, r->running_count, sizeof(*r->running), by_limit);
	for (size_t i = 0; i < r->running_count; i++) {
		free += r->running[i].job->gpus ? 0 : r->running[i].job->nodes;
		if (free < w->job->nodes)
			continue;
		*spare = free - w->job->nodes;
		return r->running[i].limit_s;
	}
	return INFINITY;
}

static int start_queued(struct run *r, size_t at)
{
	const struct job *job = r->queue[at].job;

	r->queue_count--;
	memmove(&r->queue[at], &r->queue[at + 1], (r->queue_count - at) * sizeof(*r->queue));
	return start(r, job);
}

static int schedule(struct run *r)
{
	double shadow_s;
	uint32_t spare;
	int rc = 0;

	while (rc == 0 && r->queue_count && choose(r, &r->queue[0]))
		rc = start_queued(r, 0);
	if (rc < 0 || r->queue_count < 2 || r->c->free == 0)
		return rc;
	shadow_s = find_shadow(r, &spare);
	for (size_t at = 1, tried = 0; rc == 0 && at < r->queue_count && tried < DEPTH; tried++) {
		const struct job *job = r->queue[at].job;
		bool ends = r->now_s + job->limit_s <= shadow_s;

		if ((!ends && job->nodes > spare) || !choose(r, &r->queue[at])) {
			at++;
			continue;
		}
		spare -= ends ? 0 : job->nodes;
		rc = start_queued(r, at);
	}
	return rc;
}

static void enqueue(struct run *r, const struct job *job)
{
	size_t at = r->queue_count++;

	while (at > 0 && r->queue[at - 1].job->priority < job->priority) {
		r->queue[at] = r->queue[at - 1];
		at--;
	}
	r->queue[at] = (struct waiting){ job, -1 };
}

/* When something happens next: an end, or a wait that is over. */
static double next_event(const struct run *r)
{
	double next_s = INFINITY;

	for (size_t i = 0; i < r->running_count; i++)
		next_s = fmin(next_s, r->running[i].end_s);
	for (size_t i = 0; r->budget_s > 0 && i < r->queue_count; i++) {
		double over_s = r->queue[i].first_s + r->budget_s;

		if (r->queue[i].first_s >= 0 && over_s > r->now_s)
			next_s = fmin(next_s, over_s);
	}
	return next_s;
}

static int run_jobs(struct run *r, const struct jobs *jobs)
{
	size_t next = 0;
	int rc = 0;

	while (rc == 0 && (next < jobs->count || r->running_count || r->queue_count)) {
		double submit_s = next < jobs->count ? jobs->job[next].submit_s : INFINITY;

		r->now_s = fmin(next_event(r), submit_s);
		if (isinf(r->now_s))
			return -EDEADLK; /* a job that can never start: they are left out before */
		end_jobs(r);
		while (next < jobs->count && jobs->job[next].submit_s <= r->now_s)
			enqueue(r, &jobs->job[next++]);
		rc = schedule(r);
	}
	return rc;
}

static double percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

static void print_run(const struct run *r, const char *name, double span_s)
{
	const struct totals *t = &r->t;

	printf("%-10s %7zu %6.3f %9.3f %8.2f %7.3f %7.3f %7.2f %7.2f %7.2f %7.2f %8.2f\n", name,
	       t->jobs, t->used_s / (r->c->usable * span_s), t->wait_s / 3600 / (double)t->jobs,
	       t->slowdown / (double)t->jobs, t->units / (double)t->multi,
	       t->ideal / (double)t->multi, percent((double)t->split_unit, (double)t->fits_unit),
	       percent(t->crossing_s, t->fits_pod_s), percent((double)t->suspect, (double)t->multi),
	       percent(t->suspect_s, t->multi_s), t->decide_us / (double)t->decisions);
}

static int run_policy(const struct options *o, const struct jobs *jobs, int policy, struct err *err)
{
	struct cluster c = { 0 };
	struct run r = { .c = &c, .o = o, .policy = policy < POLICIES ? policy : OURS };
	char name[32];
	int rc = cluster_make(&c, o, err);

	r.budget_s = policy == POLICIES ? o->wait_s : 0;
	r.running = calloc((size_t)c.shape.nodes * c.per_node + 1, sizeof(*r.running));
	r.queue = calloc(jobs->count + 1, sizeof(*r.queue));
	r.nodes = numbers(c.shape.nodes);
	if (rc == 0)
		rc = r.running && r.queue && r.nodes ? run_jobs(&r, jobs) : -ENOMEM;
	if (policy == POLICIES)
		snprintf(name, sizeof(name), "ours+%.0fm", o->wait_s / 60);
	if (rc == 0)
		print_run(&r, policy == POLICIES ? name : policy_names[policy],
			  jobs->job[jobs->count - 1].submit_s - jobs->job[0].submit_s);
	else if (!err->text[0])
		err_set(err, -rc, "%s", strerror(-rc));
	for (size_t i = 0; i < r.running_count; i++)
		free(r.running[i].nodes);
	free(r.running);
	free(r.queue);
	free(r.nodes);
	cluster_clear(&c);
	return rc;
}

/* Leaves out what can't run there at all, and stretches the arrivals to the load. */
static void fit_jobs(struct jobs *jobs, const struct cluster *c, const struct options *o)
{
	double work_s = 0, span_s, first_s;
	size_t kept = 0;

	for (size_t i = 0; i < jobs->count; i++)
		if (jobs->job[i].nodes <= c->usable * 95 / 100 && (!o->jobs || kept < o->jobs))
			jobs->job[kept++] = jobs->job[i];
	jobs->count = kept;
	for (size_t i = 0; i < kept; i++) {
		const struct job *job = &jobs->job[i];
		double part = job->gpus ? (double)job->gpus / c->per_node : 1;

		work_s += job->run_s * job->nodes * part;
	}
	if (kept < 2)
		return;
	first_s = jobs->job[0].submit_s;
	span_s = jobs->job[kept - 1].submit_s - first_s;
	for (size_t i = 0; i < kept && span_s > 0; i++)
		jobs->job[i].submit_s =
			(jobs->job[i].submit_s - first_s) * work_s / (c->usable * o->load) / span_s;
}

static struct jobs *load_jobs(const struct options *o, struct err *err)
{
	const char *path = o->swf ? o->swf : o->sacct;
	struct jobs *jobs = NULL;
	char *text;
	size_t len;

	if (!path)
		return jobs_make(o->jobs ? o->jobs : 15000, o->share, o->per_node, o->seed, err);
	if (io_read(path, 1u << 30, &text, &len, err) < 0)
		return NULL;
	jobs = o->swf ? jobs_swf(text, len, o->per_node, path, err)
		      : jobs_sacct(text, len, o->per_node, path, err);
	free(text);
	return jobs;
}

static int replay(const struct options *o, struct err *err)
{
	struct jobs *jobs = load_jobs(o, err);
	struct cluster c = { 0 };
	int rc = jobs ? cluster_make(&c, o, err) : -EPROTO;

	if (rc == 0) {
		fit_jobs(jobs, &c, o);
		if (jobs->count < 2)
			rc = err_set(err, ENOENT, "fewer than two jobs fit this cluster");
	}
	if (rc == 0)
		printf("%u nodes, %u units, %u pods; %u out of use\n"
		       "%-10s %7s %6s %9s %8s %7s %7s %7s %7s %7s %7s %8s\n",
		       c.shape.nodes, c.shape.units, c.shape.pods, c.shape.nodes - c.usable,
		       "policy", "jobs", "load", "wait h", "slowdown", "units", "fewest", "split%",
		       "cross%", "susp%", "suspnh%", "us");
	for (int p = 0; rc == 0 && p <= POLICIES; p++)
		if (o->policy[p])
			rc = run_policy(o, jobs, p, err);
	cluster_clear(&c);
	jobs_free(jobs);
	return rc;
}

/* ---- one decision for each line of standard input: NODES, then the free nodes ---- */

static int decide_line(struct cluster *c, const char *policy, char *line, struct err *err)
{
	uint32_t *nodes = numbers(c->shape.nodes), n = 0;
	struct place_result result = { 0 };
	bool good = nodes != NULL, first = true;
	uint64_t value;

	for (uint32_t i = 0; i < c->shape.nodes; i++)
		set_node(c, i, false);
	for (char *save, *word = strtok_r(line, " \n", &save); word && good;
	     word = strtok_r(NULL, " \n", &save)) {
		good = u64_parse(word, c->shape.nodes - !first, &value);
		if (first)
			n = good ? (uint32_t)value : 0;
		else if (good)
			set_node(c, (uint32_t)value, true);
		first = false;
	}
	if (!good || n == 0) {
		free(nodes);
		return err_set(err, EINVAL, "standard input: not NODES FREE-NODE...");
	}
	if (strcmp(policy, policy_names[OURS]) == 0) {
		struct place_request q = { .min = n, .max = n, .class = PLACE_COMPACT };

		good = place_decide(c->state, &q, &result, nodes, NULL) == 0;
	} else {
		for (int p = LINEAR; p < OURS; p++)
			if (strcmp(policy, policy_names[p]) == 0)
				good = stock_choose(c->stock, (enum stock_rules)p, n, nodes);
	}
	for (uint32_t i = 0; good && i < n; i++)
		printf("%s%u", i ? " " : "", nodes[i]);
	puts(good ? "" : "none");
	free(nodes);
	return 0;
}

static int decide(const struct options *o, struct err *err)
{
	struct options all_well = *o;
	struct cluster c = { 0 };
	char *line = NULL;
	size_t room = 0;
	int rc;

	all_well.down = all_well.suspect = 0;
	rc = cluster_make(&c, &all_well, err);

	while (rc == 0 && getline(&line, &room, stdin) > 0)
		rc = decide_line(&c, o->decide, line, err);
	free(line);
	cluster_clear(&c);
	return rc;
}

/* ---- how long a decision takes ---- */

#define BENCH_SLOTS 12 /* parts of the running jobs that end together */

struct bench {
	struct cluster *c;
	uint32_t *nodes, *taken; /* taken: the nodes of all running jobs, behind each other */
	uint32_t first[BENCH_SLOTS], count[BENCH_SLOTS];
	uint64_t seed;
};

/* One to 256 nodes, each power of two as often as the next, and one node half the time. */
static uint32_t bench_size(struct bench *b)
{
	uint32_t power = draw(&b->seed, 2) ? draw(&b->seed, 9) : 0;

	return 1 + draw(&b->seed, 1u << power);
}

static void bench_release(struct bench *b, uint32_t slot)
{
	for (uint32_t i = 0; i < b->count[slot]; i++)
		set_node(b->c, b->taken[b->first[slot] + i], true);
	b->count[slot] = 0;
}

static int bench_policy(struct bench *b, enum policy policy, uint32_t n, double *us)
{
	struct place_request q = { .min = n, .max = n, .class = PLACE_COMPACT };
	struct place_result result;
	int64_t begin_ns = io_mono_ns();
	bool good = policy == OURS ? place_decide(b->c->state, &q, &result, b->nodes, NULL) == 0
				   : stock_choose(b->c->stock, STOCK_24_11, n, b->nodes);

	*us += us_since(begin_ns);
	return good ? 0 : -ENOSPC;
}

/* Each slot has jobs of a sixteenth of the nodes, so that a quarter is free; one after the other
 * ends them all and starts others. */
static int bench(const struct options *o, struct err *err)
{
	struct cluster c = { 0 };
	struct bench b = { .c = &c, .seed = o->seed };
	int rc = cluster_make(&c, o, err);
	uint32_t slots = BENCH_SLOTS, room = c.shape.nodes / 16, decisions = 0;
	uint32_t rounds = room ? (o->jobs ? (uint32_t)o->jobs : 1000) : 0;
	double us[2] = { 0 };

	b.nodes = numbers(c.shape.nodes);
	b.taken = numbers(2 * (size_t)c.shape.nodes);
	for (uint32_t slot = 0; rc == 0 && b.nodes && b.taken && decisions < rounds; slot++) {
		uint32_t at = slot % slots;

		bench_release(&b, at);
		b.first[at] = at * room;
		while (rc == 0 && decisions < rounds) {
			uint32_t n = bench_size(&b);

			if (b.count[at] == room)
				break;
			n = n < room - b.count[at] ? n : room - b.count[at];
			rc = slot < slots ? 0 : bench_policy(&b, TREE24, n, &us[0]);
			if (rc == 0)
				rc = bench_policy(&b, OURS, n, &us[1]);
			decisions += slot >= slots;
			us[1] = decisions ? us[1] : 0; /* the cluster is filled first */
			for (uint32_t i = 0; rc == 0 && i < n; i++) {
				b.taken[b.first[at] + b.count[at]++] = b.nodes[i];
				set_node(&c, b.nodes[i], false);
			}
		}
	}
	if (rc == 0 && decisions == 0)
		rc = err_set(err, EINVAL, "this needs at least 16 nodes");
	else if (rc == 0)
		printf("%u nodes, %u units, %u pods: %u decisions, tree24 %.2f us, ours %.2f us\n",
		       c.shape.nodes, c.shape.units, c.shape.pods, decisions, us[0] / decisions,
		       us[1] / decisions);
	free(b.nodes);
	free(b.taken);
	cluster_clear(&c);
	return rc < 0 && !err->text[0] ? err_set(err, -rc, "%s", strerror(-rc)) : rc;
}

/* ---- options ---- */

static const char usage[] =
	"Usage: sfabric-replay [OPTIONS]\n"
	"Replays a stream of jobs with stock Slurm's placement and with ours.\n"
	"\n"
	"  --swf FILE | --sacct FILE  jobs: Standard Workload Format, or sacct --parsable2 with "
	"JobID,\n"
	"                             Submit, ElapsedRaw, NNodes[, TimelimitRaw, Priority, "
	"AllocTRES];\n"
	"                             without both they are made up\n"
	"  --jobs N                   at most so many (made up: 15000)\n"
	"  --per-node N               processors (SWF) or GPUs of a node (8)\n"
	"  --share PART               of made-up jobs of one node that want less than all GPUs "
	"(0)\n"
	"  --tree PODSxUNITSxNODES    the cluster (8x16x32); --fabric FILE: that of a fabric.json\n"
	"  --over RATIO               oversubscription above the pods (1)\n"
	"  --load PART (.9)  --down PART (.02)  --suspect PART (.02)  --seed N (1)\n"
	"  --policy NAME              linear, tree22, tree24, ours, wait; again for more; all\n"
	"  --wait MINUTES             how long `wait' waits for a better placement (5)\n"
	"  --decide NAME              instead: for each line \"NODES FREE-NODE...\" of standard "
	"input\n"
	"                             the nodes that linear, tree22, tree24 or ours chooses\n"
	"  --bench                    instead: how long --jobs decisions take on a busy cluster\n"
	"\n"
	"Columns: mean wait and bounded slowdown; units for each job of more than one node, and "
	"the\n"
	"fewest; jobs that fit a unit and were split; node-hours of jobs that fit a pod and "
	"crossed\n"
	"pods; jobs of more than one node, and their node-hours, on a suspect node; time of a "
	"decision.\n";

static bool parse_tree(const char *text, struct options *o)
{
	char end;

	return sscanf(text, "%5ux%5ux%5u%c", &o->pods, &o->units, &o->nodes, &end) == 3 &&
	       o->pods && o->units && o->nodes &&
	       (uint64_t)o->pods * o->units * o->nodes <= PLACE_NODES_MAX;
}

static bool parse_part(const char *text, double max, double *part)
{
	char *end;

	*part = strtod(text, &end);
	return end != text && *end == '\0' && *part >= 0 && *part <= max;
}

static bool parse_policy(const char *text, struct options *o)
{
	bool all = strcmp(text, "all") == 0, good = all || strcmp(text, "wait") == 0;

	for (int i = 0; i < POLICIES; i++)
		if (all || strcmp(text, policy_names[i]) == 0)
			good = o->policy[i] = true;
	if (all || strcmp(text, "wait") == 0)
		o->policy[POLICIES] = true;
	return good;
}

static bool parse_count(const char *text, uint64_t max, uint64_t *value)
{
	return u64_parse(text, max, value) && *value > 0;
}

static bool set_option(struct options *o, int c)
{
	uint64_t value;
	double part;

	switch (c) {
	case 's':
		o->swf = optarg;
		return true;
	case 'a':
		o->sacct = optarg;
		return true;
	case 'f':
		o->fabric = optarg;
		return true;
	case 'D':
		o->decide = optarg;
		return true;
	case 'b':
		return o->bench = true;
	case 't':
		return parse_tree(optarg, o);
	case 'p':
		return parse_policy(optarg, o);
	case 'j':
		return parse_count(optarg, 10000000, &value) && (o->jobs = value);
	case 'n':
		return parse_count(optarg, 4096, &value) && (o->per_node = (uint32_t)value);
	case 'e':
		return parse_count(optarg, UINT32_MAX, &o->seed);
	case 'o':
		o->pod_over = parse_part(optarg, 1000, &part) ? (uint32_t)(1000 * part) : 0;
		return o->pod_over > 0;
	case 'w':
		return parse_part(optarg, 10080, &part) && (o->wait_s = 60 * part, true);
	case 'l':
		return parse_part(optarg, 10, &o->load) && o->load > 0;
	case 'd':
		return parse_part(optarg, .9, &o->down);
	case 'u':
		return parse_part(optarg, .1, &o->suspect);
	case 'h':
		return parse_part(optarg, 1, &o->share);
	}
	return false;
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "swf", required_argument, NULL, 's' },
		{ "sacct", required_argument, NULL, 'a' },
		{ "fabric", required_argument, NULL, 'f' },
		{ "tree", required_argument, NULL, 't' },
		{ "policy", required_argument, NULL, 'p' },
		{ "jobs", required_argument, NULL, 'j' },
		{ "per-node", required_argument, NULL, 'n' },
		{ "seed", required_argument, NULL, 'e' },
		{ "over", required_argument, NULL, 'o' },
		{ "wait", required_argument, NULL, 'w' },
		{ "load", required_argument, NULL, 'l' },
		{ "down", required_argument, NULL, 'd' },
		{ "suspect", required_argument, NULL, 'u' },
		{ "share", required_argument, NULL, 'h' },
		{ "decide", required_argument, NULL, 'D' },
		{ "help", no_argument, NULL, 'H' },
		{ "bench", no_argument, NULL, 'b' },
		{ NULL, 0, NULL, 0 },
	};
	struct options o = { .pods = 8,
			     .units = 16,
			     .nodes = 32,
			     .per_node = 8,
			     .load = .9,
			     .down = .02,
			     .suspect = .02,
			     .wait_s = 300,
			     .seed = 1,
			     .pod_over = 1000 };
	struct err err = { "" };
	bool any = false;
	int c, rc;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (c == 'H') {
			fputs(usage, stdout);
			return 0;
		}
		if (!set_option(&o, c)) {
			fprintf(stderr, "sfabric-replay: wrong use; see --help\n");
			return 2;
		}
	}
	for (int i = 0; i <= POLICIES; i++)
		any |= o.policy[i];
	if (!any)
		parse_policy("all", &o);
	rc = o.bench ? bench(&o, &err) : o.decide ? decide(&o, &err) : replay(&o, &err);
	if (rc < 0)
		fprintf(stderr, "sfabric-replay: %s\n", err.text);
	return rc < 0 ? 3 : 0;
}
