/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_place.c - the placement engine against every other answer.
 *
 * On small trees each set of units is tried for each number of nodes: in one pod the engine may not
 * need more units than the best of them, nor more pods where it takes the fewest, and with more than
 * one pod its answers that cost more than the best are counted. Tried are all states, but for the
 * order of units in a pod and of pods (which is shuffled), of 1 x 4 and 2 x 3 units of 8 nodes and
 * 3 x 3 of 4, and some of 4 x 4 of 8; with PLACE_ALL in the environment also all of 2 x 4 of 8 and
 * 3 x 4 of 3, and of 4 x 4 of 8 those with 0, 4 or 8 free nodes. On large trees, with suspect,
 * required and excluded nodes, areas, islands and unknown nodes, what holds for every answer.
 */
#include "unit.h"

#include "fabric.h"
#include "place.h"

#define UNITS 16

static uint32_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33);
}

/* A tree of equal pods of equal units in one island. */
static struct place_model *tree(uint32_t pods, uint32_t units, uint32_t nodes, uint32_t pod_over)
{
	uint32_t count = pods * units * nodes, parent = PLACE_NONE;
	uint32_t *unit_of = calloc(count, sizeof(*unit_of));
	uint32_t *pod_of = calloc((size_t)pods * units, sizeof(*pod_of));
	uint32_t *group_of = calloc(pods, sizeof(*group_of));
	struct err err = { "" };
	struct place_model *m;

	for (uint32_t i = 0; i < count; i++)
		unit_of[i] = i / nodes;
	for (uint32_t i = 0; i < pods * units; i++)
		pod_of[i] = i / units;
	m = place_model_make(&(struct place_shape){ count, pods * units, pods, 1, unit_of, pod_of,
						    group_of, &parent, 1000, pod_over },
			     &err);
	if (!m)
		fail_msg("%s", err.text);
	free(unit_of);
	free(pod_of);
	free(group_of);
	return m;
}

/* ---- every set of units ---- */

struct brute {
	uint32_t pods, units, nodes; /* of the tree, of a pod, of a unit */
	struct place_model *model;
	struct place_state *state;
	uint32_t over;
	uint64_t seed;
	uint32_t free[UNITS];
	unsigned long decisions, worse;
};

static void brute_start(struct brute *b)
{
	uint32_t count = b->pods * b->units * b->nodes;

	b->model = tree(b->pods, b->units, b->nodes, b->over);
	b->state = place_state_make(b->model);
	assert_non_null(b->state);
	for (uint32_t i = 0; i < count; i++)
		place_set(b->state, i, PLACE_BUSY);
}

static void brute_end(struct brute *b)
{
	place_state_free(b->state);
	place_model_free(b->model);
}

/* Sets the state to b->free, the free nodes of a unit anywhere in it. */
static void brute_fill(struct brute *b)
{
	for (uint32_t u = 0; u < b->pods * b->units; u++) {
		uint32_t left = b->free[u];

		for (uint32_t i = 0; i < b->nodes; i++) {
			bool here = next_random(&b->seed) % (b->nodes - i) < left;

			left -= here;
			place_set(b->state, u * b->nodes + i, here ? PLACE_FREE : PLACE_BUSY);
		}
	}
}

/* The fewest of each, by what is in one set; 0: there is none. */
struct best {
	uint64_t units, pods, pod_units, cost; /* pod_units: units of a set in one pod */
};

static void keep(uint64_t *best, uint64_t found)
{
	if (found && (*best == 0 || found < *best))
		*best = found;
}

static void keep_best(struct best *best, const struct best *found)
{
	keep(&best->units, found->units);
	keep(&best->pods, found->pods);
	keep(&best->pod_units, found->pod_units);
	keep(&best->cost, found->cost);
}

/* In thousandths of a unit's cost; from 1, so that 0 is none. */
static uint64_t cost_of(const struct brute *b, uint64_t units, uint64_t pods)
{
	return 1 + 1000 * (units - 1) + b->over * (pods - 1);
}

/* The best of all sets of units with at least that many nodes, for every number. */
static void brute_best(const struct brute *b, struct best best[UNITS * 8 + 2])
{
	uint32_t count = b->pods * b->units;

	memset(best, 0, (UNITS * 8 + 2) * sizeof(*best));
	for (uint32_t set = 1; set < 1u << count; set++) {
		uint32_t sum = 0, units = 0, pods = 0;

		for (uint32_t u = 0; u < count; u++)
			if (set >> u & 1) {
				sum += b->free[u];
				units++;
				pods |= 1u << u / b->units;
			}
		pods = (uint32_t)__builtin_popcount(pods);
		keep_best(&best[sum], &(struct best){ units, pods, pods == 1 ? units : 0,
						      cost_of(b, units, pods) });
	}
	for (uint32_t n = count * b->nodes; n-- > 1;)
		keep_best(&best[n], &best[n + 1]);
}

/* The nodes are free, each once, in rank order, and as many units and pods as said. */
static void check_nodes(const struct brute *b, const struct place_result *r, const uint32_t *nodes)
{
	uint32_t taken[UNITS] = { 0 }, units = 0, pods = 0;

	for (uint32_t i = 0; i < r->count; i++) {
		taken[nodes[i] / b->nodes]++;
		if (i)
			assert_true(nodes[i - 1] < nodes[i]);
	}
	for (uint32_t u = 0; u < b->pods * b->units; u++) {
		assert_true(taken[u] <= b->free[u]);
		units += taken[u] > 0;
		pods |= (taken[u] > 0) << u / b->units;
	}
	assert_int_equal(r->units, units);
	assert_int_equal(r->pods, __builtin_popcount(pods));
}

static void check_same_pod(struct brute *b, uint32_t n, const struct best *best)
{
	struct place_request q = { .min = n, .max = n, .class = PLACE_SAME_POD, .strict = true };
	struct place_result r;
	uint32_t nodes[UNITS * 8];
	int rc = place_decide(b->state, &q, &r, nodes, NULL);

	if (n > 1 && best->pod_units == 0) {
		assert_int_equal(rc, -ENOSPC);
		return;
	}
	assert_int_equal(rc, 0);
	assert_int_equal(r.units, best->pod_units);
	check_nodes(b, &r, nodes);
}

static void check_compact(struct brute *b, uint32_t n, const struct best *best)
{
	struct place_request q = { .min = n, .max = n, .class = PLACE_COMPACT };
	struct place_result r;
	uint32_t nodes[UNITS * 8];
	uint64_t cost;

	assert_int_equal(place_decide(b->state, &q, &r, nodes, NULL), 0);
	assert_int_equal(r.count, n);
	assert_int_equal(r.units_now, best->units);
	assert_int_equal(r.pods_now, best->pods);
	assert_int_equal(r.given_up, 0);
	check_nodes(b, &r, nodes);
	cost = cost_of(b, r.units, r.pods);
	assert_true(cost >= best->cost);
	/* one pod at the price of a further pod is exact, more pods are a bounded search */
	if (best->pod_units)
		assert_true(cost <= cost_of(b, best->pod_units, 1));
	b->decisions++;
	b->worse += cost > best->cost;
}

static void brute_check(struct brute *b)
{
	struct best best[UNITS * 8 + 2];
	uint32_t total = 0;

	brute_fill(b);
	brute_best(b, best);
	for (uint32_t u = 0; u < b->pods * b->units; u++)
		total += b->free[u];
	for (uint32_t n = 1; n <= total; n++) {
		check_compact(b, n, &best[n]);
		check_same_pod(b, n, &best[n]);
	}
}

/* Units of a pod, and pods, in another order. */
static void shuffle(struct brute *b)
{
	for (uint32_t p = 0; p < b->pods; p++) {
		uint32_t other = next_random(&b->seed) % b->pods, *pod = &b->free[p * b->units];

		for (uint32_t u = 0; u < b->units; u++) {
			uint32_t *x = &b->free[other * b->units + u], old = *x;

			*x = pod[u];
			pod[u] = old;
		}
		for (uint32_t u = 0; u < b->units; u++) {
			uint32_t *x = &pod[next_random(&b->seed) % b->units], old = *x;

			*x = pod[u];
			pod[u] = old;
		}
	}
}

/* The next state whose units have at least what the one before them in the pod has. */
static bool next_state(uint32_t *value, uint32_t count, uint32_t units, uint32_t levels)
{
	uint32_t at = count;

	while (at > 0 && value[at - 1] == levels - 1)
		at--;
	if (at == 0)
		return false;
	value[at - 1]++;
	for (uint32_t u = at; u < count; u++)
		value[u] = u % units ? value[u - 1] : 0;
	return true;
}

static bool pods_in_order(const struct brute *b, const uint32_t *value)
{
	for (uint32_t u = b->units; u < b->pods * b->units; u += b->units)
		if (memcmp(&value[u - b->units], &value[u], b->units * sizeof(*value)) > 0)
			return false;
	return true;
}

/* All states, but for the order of units in a pod and of pods. levels: free counts, times step. */
static void brute_all(struct brute *b, uint32_t levels, uint32_t step)
{
	uint32_t count = b->pods * b->units, value[UNITS] = { 0 };

	brute_start(b);
	do {
		if (!pods_in_order(b, value))
			continue;
		for (uint32_t u = 0; u < count; u++)
			b->free[u] = value[u] * step;
		shuffle(b);
		brute_check(b);
	} while (next_state(value, count, b->units, levels));
	brute_end(b);
	print_message("%u x %u units of %u, a pod costs %u: %lu decisions, %lu not the best\n",
		      b->pods, b->units, b->nodes, b->over, b->decisions, b->worse);
}

static void small_trees_have_no_better_answer(void **state)
{
	struct brute one = { .pods = 1, .units = 4, .nodes = 8, .over = 1000 };
	struct brute two = { .pods = 2, .units = 3, .nodes = 8, .over = 2000 };
	struct brute three = { .pods = 3, .units = 3, .nodes = 4, .over = 1000 };

	(void)state;
	brute_all(&one, 9, 1);
	assert_int_equal(one.worse, 0);
	brute_all(&two, 9, 1);
	assert_int_equal(two.worse, 0);
	brute_all(&three, 5, 1);
	assert_int_equal(three.worse, 0);
}

/* Minutes: with PLACE_ALL set. */
static void larger_ones_have_few(void **state)
{
	static const uint32_t over[] = { 1000, 2000, 4000 };

	(void)state;
	if (!getenv("PLACE_ALL"))
		skip();
	for (size_t i = 0; i < 3; i++) {
		struct brute two = { .pods = 2, .units = 4, .nodes = 8, .over = over[i] };
		struct brute three = { .pods = 3, .units = 4, .nodes = 3, .over = over[i] };
		struct brute four = { .pods = 4, .units = 4, .nodes = 8, .over = over[i] };

		brute_all(&two, 9, 1);
		assert_int_equal(two.worse, 0);
		brute_all(&three, 4, 1);
		brute_all(&four, 3, 4);
		assert_true(three.worse * 100 < three.decisions);
		assert_true(four.worse * 100 < four.decisions);
	}
}

static void a_sample_of_larger_trees_has_few(void **state)
{
	struct brute b = { .pods = 4, .units = 4, .nodes = 8, .over = 2000, .seed = 5 };

	(void)state;
	brute_start(&b);
	for (int i = 0; i < 60; i++) {
		for (uint32_t u = 0; u < 16; u++)
			b.free[u] = next_random(&b.seed) % 9;
		brute_check(&b);
	}
	brute_end(&b);
	print_message("4 x 4 units of 8: %lu decisions, %lu not the best\n", b.decisions, b.worse);
	assert_true(b.worse * 100 < b.decisions);
}

/* ---- large trees: what holds for every answer ---- */

#define NODES 1200
#define GROUPS 6 /* three islands, two areas in the first, an area in one of these */

struct forest {
	uint32_t unit_of[NODES], pod_of[NODES], group_of[NODES], parent[GROUPS];
	uint32_t units, pods;
	struct place_model *model;
	struct place_state *state;
	enum place_node what[NODES];
	bool suspect[NODES];
};

static void forest_start(struct forest *f, uint64_t *seed)
{
	static const uint32_t parent[GROUPS] = { 3, 0, 3, PLACE_NONE, PLACE_NONE, PLACE_NONE };
	struct err err = { "" };

	f->units = 60 + next_random(seed) % 60;
	f->pods = 5 + next_random(seed) % 10;
	memcpy(f->parent, parent, sizeof(parent));
	for (uint32_t i = 0; i < f->pods; i++)
		f->group_of[i] = next_random(seed) % GROUPS;
	for (uint32_t i = 0; i < f->units; i++)
		f->pod_of[i] = next_random(seed) % f->pods;
	for (uint32_t i = 0; i < NODES; i++)
		f->unit_of[i] = next_random(seed) % 30 ? next_random(seed) % f->units : PLACE_NONE;
	f->model = place_model_make(&(struct place_shape){ NODES, f->units, f->pods, GROUPS,
							   f->unit_of, f->pod_of, f->group_of,
							   f->parent, 1500, 3000 },
				    &err);
	if (!f->model)
		fail_msg("%s", err.text);
	f->state = place_state_make(f->model);
	assert_non_null(f->state);
	for (uint32_t i = 0; i < NODES; i++) {
		f->what[i] =
			(enum place_node)(next_random(seed) % 5 ? 1 + next_random(seed) % 2 : 0);
		f->suspect[i] = next_random(seed) % 10 == 0;
		place_set(f->state, i, PLACE_FREE);
		place_suspect(f->state, i, f->suspect[i]);
		place_set(f->state, i, f->what[i]);
	}
}

static void forest_end(struct forest *f)
{
	place_state_free(f->state);
	place_model_free(f->model);
}

static uint32_t island_of(const struct forest *f, uint32_t node)
{
	uint32_t at = f->group_of[f->pod_of[f->unit_of[node]]];

	while (f->parent[at] != PLACE_NONE)
		at = f->parent[at];
	return at;
}

static bool among(const uint32_t *list, uint32_t count, uint32_t node)
{
	while (count--)
		if (list[count] == node)
			return true;
	return false;
}

/* How often a group of the nodes ends and another one begins, and how many groups there are. */
static void count_runs(const uint32_t *group, uint32_t count, uint32_t *runs, uint32_t *groups)
{
	static bool seen[NODES];

	*runs = *groups = 0;
	for (uint32_t i = 0; i < count; i++) {
		*runs += i == 0 || group[i] != group[i - 1];
		*groups += !seen[group[i]];
		seen[group[i]] = true;
	}
	for (uint32_t i = 0; i < count; i++)
		seen[group[i]] = false;
}

static void check_strict(const struct forest *f, const struct place_request *q,
			 const struct place_result *r, const uint32_t *nodes)
{
	assert_int_equal(r->given_up & ~(unsigned int)PLACE_GAVE_HEALTH, 0);
	if (q->max > 1)
		for (uint32_t i = 1; i < r->count; i++)
			assert_int_equal(island_of(f, nodes[i]), island_of(f, nodes[0]));
	if (q->healthy)
		assert_int_equal(r->suspects, 0);
	if (q->class == PLACE_SAME_LEAF && r->unknown == 0)
		assert_int_equal(r->units, 1);
	if (q->class == PLACE_SAME_POD && r->unknown == 0)
		assert_int_equal(r->pods, 1);
	if (q->class == PLACE_SPREAD && r->unknown == 0)
		assert_int_equal(r->units, r->count);
	for (uint32_t i = 0, run = 0; q->class == PLACE_SEGMENTS && q->max > 1 && i < r->count;
	     i++) {
		run++;
		if (i + 1 < r->count && f->unit_of[nodes[i]] == f->unit_of[nodes[i + 1]])
			continue;
		assert_int_equal(run % q->segment, 0);
		run = 0;
	}
}

static void check_answer(const struct forest *f, const struct place_request *q,
			 const struct place_result *r, const uint32_t *nodes)
{
	uint32_t unit[NODES], pod[NODES], count = 0, runs, groups, suspects = 0;

	assert_in_range(r->count, q->min, q->max);
	for (uint32_t i = 0; i < r->count; i++) {
		assert_int_equal(f->what[nodes[i]], PLACE_FREE);
		assert_false(among(q->excluded, q->excluded_count, nodes[i]));
		assert_false(among(nodes, i, nodes[i]));
		suspects += f->suspect[nodes[i]];
		if (f->unit_of[nodes[i]] == PLACE_NONE)
			continue;
		unit[count] = f->unit_of[nodes[i]];
		pod[count++] = f->pod_of[f->unit_of[nodes[i]]];
	}
	for (uint32_t i = 0; i < q->required_count; i++)
		assert_true(among(nodes, r->count, q->required[i]));
	assert_int_equal(r->suspects, suspects);
	assert_int_equal(r->unknown, r->count - count);
	count_runs(unit, count, &runs, &groups);
	assert_int_equal(runs, groups);
	assert_int_equal(r->units, groups);
	count_runs(pod, count, &runs, &groups);
	assert_int_equal(runs, groups);
	assert_int_equal(r->pods, groups);
	if (r->unknown == 0 && !(r->given_up & PLACE_GAVE_FABRIC)) {
		assert_true(r->units >= r->units_now && r->units_now >= r->units_fewest);
		assert_true(r->pods >= r->pods_now && r->pods_now >= r->pods_fewest);
	}
	if (q->strict)
		check_strict(f, q, r, nodes);
}

/* Free healthy nodes of one unit or pod, at most; without what is excluded. */
static uint32_t most_free(const struct forest *f, const struct place_request *q, bool pods)
{
	uint32_t most = 0, free[NODES] = { 0 };

	for (uint32_t i = 0; i < NODES; i++) {
		uint32_t at = f->unit_of[i];

		if (at == PLACE_NONE || f->what[i] != PLACE_FREE || (q->healthy && f->suspect[i]) ||
		    among(q->excluded, q->excluded_count, i))
			continue;
		at = pods ? f->pod_of[at] : at;
		most = ++free[at] > most ? free[at] : most;
	}
	return most;
}

static void check_refusal(const struct forest *f, const struct place_request *q)
{
	if (!q->strict || q->required_count)
		return;
	if (q->class == PLACE_SAME_LEAF || q->class == PLACE_SAME_POD)
		assert_true(most_free(f, q, q->class == PLACE_SAME_POD) < q->min);
	assert_true(q->class != PLACE_COMPACT || q->min > 100);
}

static void random_request(struct forest *f, struct place_request *q, uint32_t *required,
			   uint32_t *excluded, uint64_t *seed)
{
	*q = (struct place_request){ .class = (enum place_class)(next_random(seed) % 6),
				     .strict = next_random(seed) % 2,
				     .healthy = next_random(seed) % 2,
				     .segment = 1 + next_random(seed) % 6,
				     .required = required,
				     .excluded = excluded };
	q->min = q->max = 1 + next_random(seed) % (next_random(seed) % 4 ? 24 : 400);
	if (q->class == PLACE_SEGMENTS)
		q->min = q->max = q->segment * (1 + q->min / q->segment);
	if (next_random(seed) % 3 == 0)
		q->max += next_random(seed) % 20;
	for (uint32_t i = next_random(seed) % 4 ? 0 : next_random(seed) % 5; i > 0; i--) {
		required[q->required_count] = next_random(seed) % NODES;
		q->required_count += f->what[required[q->required_count]] == PLACE_FREE &&
				     !(q->healthy && f->suspect[required[q->required_count]]);
	}
	for (uint32_t i = next_random(seed) % 3 ? 0 : next_random(seed) % 200; i > 0; i--) {
		excluded[q->excluded_count] = next_random(seed) % NODES;
		q->excluded_count +=
			!among(required, q->required_count, excluded[q->excluded_count]);
	}
}

static void every_answer_keeps_to_its_request(void **state)
{
	uint32_t required[8], excluded[200], nodes[NODES], again[NODES], answers[6] = { 0 };
	struct place_request q;
	struct place_result r, other;
	struct forest f;
	uint64_t seed = 11;

	(void)state;
	for (int round = 0; round < 40; round++) {
		forest_start(&f, &seed);
		for (int i = 0; i < 100; i++) {
			int rc;

			random_request(&f, &q, required, excluded, &seed);
			rc = place_decide(f.state, &q, &r, nodes, NULL);
			if (rc < 0 && q.required_count <= q.max) {
				assert_int_equal(rc, -ENOSPC);
				check_refusal(&f, &q);
			}
			if (rc < 0)
				continue;
			check_answer(&f, &q, &r, nodes);
			assert_int_equal(place_decide(f.state, &q, &other, again, NULL), 0);
			assert_memory_equal(&r, &other, sizeof(r));
			assert_memory_equal(nodes, again, r.count * sizeof(*nodes));
			answers[q.class]++;
		}
		forest_end(&f);
	}
	for (int i = 0; i < 6; i++)
		assert_true(answers[i] > 100);
}

/* ---- single rules ---- */

struct small { /* 2 pods of 2 units of 4 nodes, all free */
	struct place_model *model;
	struct place_state *state;
	struct place_result r;
	uint32_t nodes[16];
};

static void small_start(struct small *s)
{
	s->model = tree(2, 2, 4, 1000);
	s->state = place_state_make(s->model);
	assert_non_null(s->state);
	for (uint32_t i = 0; i < 16; i++)
		place_set(s->state, i, PLACE_FREE);
}

static void small_end(struct small *s)
{
	place_state_free(s->state);
	place_model_free(s->model);
}

static int small_ask(struct small *s, uint32_t n, enum place_class class, bool strict)
{
	struct place_request q = {
		.min = n, .max = n, .class = class, .strict = strict, .segment = 2
	};

	return place_decide(s->state, &q, &s->r, s->nodes, NULL);
}

static void one_node_takes_what_others_should_not(void **state)
{
	struct small s;

	(void)state;
	small_start(&s);
	place_set(s.state, 9, PLACE_BUSY);
	assert_int_equal(small_ask(&s, 1, PLACE_COMPACT, false), 0);
	assert_int_equal(s.nodes[0], 8); /* the only unit that is not wholly free */
	place_suspect(s.state, 5, true);
	assert_int_equal(small_ask(&s, 1, PLACE_COMPACT, false), 0);
	assert_int_equal(s.nodes[0], 5);
	assert_int_equal(s.r.given_up, 0);
	assert_int_equal(
		place_decide(s.state,
			     &(struct place_request){ .min = 1, .max = 1, .healthy = true }, &s.r,
			     s.nodes, NULL),
		0);
	assert_int_equal(s.nodes[0], 8);
	small_end(&s);
}

static void suspects_come_last(void **state)
{
	struct small s;

	(void)state;
	small_start(&s);
	place_suspect(s.state, 1, true);
	place_suspect(s.state, 6, true);
	for (uint32_t i = 8; i < 16; i++)
		place_set(s.state, i, PLACE_BUSY);
	assert_int_equal(small_ask(&s, 4, PLACE_COMPACT, false), 0);
	assert_int_equal(s.r.suspects, 0);
	assert_int_equal(s.r.suspects_avoided, 2);
	assert_int_equal(s.r.units, 2);
	assert_int_equal(s.r.units_now, 1);
	assert_int_equal(small_ask(&s, 7, PLACE_COMPACT, false), 0);
	assert_int_equal(s.r.suspects, 1);
	assert_int_equal(s.r.given_up, PLACE_GAVE_HEALTH);
	assert_int_equal(small_ask(&s, 4, PLACE_SAME_LEAF, true), 0);
	assert_int_equal(s.r.suspects, 1);
	small_end(&s);
}

static void classes_keep_their_word_or_say_so(void **state)
{
	struct small s;

	(void)state;
	small_start(&s);
	place_set(s.state, 0, PLACE_BUSY);
	assert_int_equal(small_ask(&s, 5, PLACE_SAME_LEAF, true), -ENOSPC);
	assert_int_equal(small_ask(&s, 5, PLACE_SAME_LEAF, false), 0);
	assert_int_equal(s.r.given_up, PLACE_GAVE_CLASS);
	assert_int_equal(small_ask(&s, 8, PLACE_SAME_POD, true), 0);
	assert_int_equal(s.nodes[0], 8);
	assert_int_equal(small_ask(&s, 4, PLACE_SPREAD, true), 0);
	assert_int_equal(s.r.units, 4);
	assert_int_equal(small_ask(&s, 5, PLACE_SPREAD, true), -ENOSPC);
	assert_int_equal(small_ask(&s, 14, PLACE_SEGMENTS, true), 0);
	assert_int_equal(s.r.units, 4);
	assert_int_equal(small_ask(&s, 15, PLACE_SEGMENTS, true), -EINVAL);
	assert_int_equal(small_ask(&s, 3, PLACE_ANY, false), 0);
	assert_int_equal(s.nodes[0], 1); /* the unit that is in use already */
	assert_int_equal(small_ask(&s, 16, PLACE_COMPACT, false), -ENOSPC);
	small_end(&s);
}

static void a_range_takes_what_the_class_can_have(void **state)
{
	struct place_request q = { .min = 2, .max = 9, .class = PLACE_SAME_LEAF };
	struct small s;

	(void)state;
	small_start(&s);
	assert_int_equal(place_decide(s.state, &q, &s.r, s.nodes, NULL), 0);
	assert_int_equal(s.r.count, 4);
	q.class = PLACE_SAME_POD;
	assert_int_equal(place_decide(s.state, &q, &s.r, s.nodes, NULL), 0);
	assert_int_equal(s.r.count, 8);
	q.max = 99;
	q.class = PLACE_COMPACT;
	assert_int_equal(place_decide(s.state, &q, &s.r, s.nodes, NULL), 0);
	assert_int_equal(s.r.count, 16);
	small_end(&s);
}

static void waiting_is_for_what_can_come(void **state)
{
	struct place_request q = { .min = 4, .max = 4, .class = PLACE_COMPACT, .wait = true };
	struct small s;

	(void)state;
	small_start(&s);
	assert_int_equal(place_decide(s.state, &q, &s.r, s.nodes, NULL), 0);
	for (uint32_t i = 0; i < 16; i += 4)
		place_set(s.state, i, PLACE_BUSY);
	assert_int_equal(place_decide(s.state, &q, &s.r, s.nodes, NULL), -EAGAIN);
	assert_int_equal(s.r.units_fewest, 1);
	q.min = q.max = 5; /* two units are what there can be */
	assert_int_equal(place_decide(s.state, &q, &s.r, s.nodes, NULL), 0);
	small_end(&s);
}

static void a_tier_costs_what_it_is_oversubscribed(void **state)
{
	static const uint32_t busy[] = { 0, 1, 2, 4, 5, 6, 8, 9, 10, 24, 25, 26, 27, 28, 29, 30 };
	struct place_request q = { .min = 11, .max = 11, .class = PLACE_COMPACT };

	/* 4 + 4 + 1 + 1 + 1 in the one pod, 4 in the other: 3 units of 2 pods, or 5 of one */
	(void)state;
	for (uint32_t over = 1000; over <= 3000; over += 2000) {
		struct place_model *m = tree(2, 5, 4, over);
		struct place_state *s = place_state_make(m);
		struct place_result r;
		uint32_t nodes[40];

		for (uint32_t i = 0; i < 24; i++)
			place_set(s, i, PLACE_FREE);
		for (size_t i = 0; i < sizeof(busy) / sizeof(*busy); i++)
			place_set(s, busy[i], PLACE_BUSY);
		assert_int_equal(place_decide(s, &q, &r, nodes, NULL), 0);
		assert_int_equal(r.pods, over == 1000 ? 2 : 1);
		assert_int_equal(r.units, over == 1000 ? 3 : 5);
		place_state_free(s);
		place_model_free(m);
	}
}

static void broken_shapes_are_refused(void **state)
{
	uint32_t zero[2] = { 0 }, far[2] = { 0, 7 }, loop[2] = { 1, 0 }, island = PLACE_NONE;
	struct err err = { "" };

	(void)state;
	assert_null(place_model_make(
		&(struct place_shape){ 2, 1, 1, 1, far, zero, zero, &island, 0, 0 }, &err));
	assert_non_null(strstr(err.text, "is in none"));
	assert_null(place_model_make(
		&(struct place_shape){ 2, 1, 1, 2, zero, zero, zero, loop, 0, 0 }, &err));
	assert_non_null(strstr(err.text, "inside itself"));
}

static void no_fabric_is_no_reason_to_fail(void **state)
{
	uint32_t none[4] = { PLACE_NONE, PLACE_NONE, PLACE_NONE, PLACE_NONE }, nodes[4];
	struct place_model *m =
		place_model_make(&(struct place_shape){ .nodes = 4, .unit_of = none }, NULL);
	struct place_state *s = place_state_make(m);
	struct place_request q = { .min = 2, .max = 3, .class = PLACE_COMPACT };
	struct place_result r;

	(void)state;
	for (uint32_t i = 0; i < 4; i++)
		place_set(s, i, PLACE_FREE);
	assert_int_equal(place_decide(s, &q, &r, nodes, NULL), 0);
	assert_int_equal(r.count, 3);
	assert_int_equal(r.unknown, 3);
	assert_int_equal(r.units, 0);
	q.strict = true;
	assert_int_equal(place_decide(s, &q, &r, nodes, NULL), -ENOSPC);
	place_state_free(s);
	place_model_free(m);
}

static void a_fabric_json_is_a_model(void **state)
{
	size_t len;
	char *text = test_data("contract/fabric.json", &len);
	struct err err = { "" };
	struct fabric *f = fabric_parse(text, len, "fabric.json", &err);
	const char *names[4];
	struct place_request q = { .min = 2, .max = 2, .class = PLACE_SAME_LEAF, .strict = true };
	struct place_result r;
	uint32_t nodes[4];
	struct place_model *m;
	struct place_state *s;

	(void)state;
	assert_non_null(f);
	assert_true(f->host_count >= 3);
	names[0] = "nobody";
	for (size_t i = 0; i < 3; i++)
		names[i + 1] = f->hosts[f->host_count - 1 - i].name;
	m = place_model_of(f, names, 4, &err);
	assert_non_null(m);
	s = place_state_make(m);
	for (uint32_t i = 0; i < 4; i++)
		place_set(s, i, PLACE_FREE);
	assert_int_equal(place_decide(s, &q, &r, nodes, NULL), 0);
	assert_string_not_equal(names[nodes[0]], "nobody");
	assert_int_equal(f->hosts[fabric_find_host(f, names[nodes[0]])].unit,
			 f->hosts[fabric_find_host(f, names[nodes[1]])].unit);
	place_state_free(s);
	place_model_free(m);
	fabric_free(f);
	free(text);
}

static void words_say_what_was_given_up(void **state)
{
	struct place_request q = { .class = PLACE_SAME_LEAF };
	struct place_result r = { .units = 3,
				  .pods = 1,
				  .units_now = 2,
				  .units_fewest = 1,
				  .pods_now = 1,
				  .pods_fewest = 1,
				  .given_up = PLACE_GAVE_CLASS | PLACE_GAVE_HEALTH };
	char text[512], little[8];

	(void)state;
	place_explain(&q, &r, text, sizeof(text));
	assert_non_null(strstr(text, "units: 3, fewest with what is free: 2, fewest possible: 1"));
	assert_non_null(strstr(text, "given up: class same-leaf"));
	assert_non_null(strstr(text, "given up: healthy nodes"));
	assert_int_equal(strlen(place_explain(&q, &r, little, sizeof(little))), 7);
	for (int i = PLACE_ANY; i < PLACE_SEGMENTS; i++) {
		assert_true(place_class_parse(place_class_name((enum place_class)i), &q));
		assert_int_equal(q.class, i);
	}
	assert_true(place_class_parse("segments=18", &q));
	assert_int_equal(q.segment, 18);
	assert_false(place_class_parse("segments=0", &q));
	assert_false(place_class_parse("segments", &q));
	assert_false(place_class_parse("fast", &q));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(small_trees_have_no_better_answer),
		cmocka_unit_test(larger_ones_have_few),
		cmocka_unit_test(a_sample_of_larger_trees_has_few),
		cmocka_unit_test(every_answer_keeps_to_its_request),
		cmocka_unit_test(one_node_takes_what_others_should_not),
		cmocka_unit_test(suspects_come_last),
		cmocka_unit_test(classes_keep_their_word_or_say_so),
		cmocka_unit_test(a_range_takes_what_the_class_can_have),
		cmocka_unit_test(waiting_is_for_what_can_come),
		cmocka_unit_test(a_tier_costs_what_it_is_oversubscribed),
		cmocka_unit_test(broken_shapes_are_refused),
		cmocka_unit_test(no_fabric_is_no_reason_to_fail),
		cmocka_unit_test(a_fabric_json_is_a_model),
		cmocka_unit_test(words_say_what_was_given_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
