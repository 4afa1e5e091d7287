/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * place.c - the decision of the placement engine; see place.h.
 *
 * All is decided on counts: each unit offers so many nodes (or segments), and a plan is a list of
 * units to take from. Taking the units that offer most gives the fewest units of a pod, and taking
 * the pods that offer most the fewest pods: both exact. Which of the plans with that number is
 * taken, and where a job of several pods trades pods for units, is a bounded search by what a
 * further unit and a further pod cost, which is the oversubscription of the links that are crossed.
 * Suspect nodes are first left out of all counts, and let in only where it doesn't work without.
 */
#include <errno.h>
#include <string.h>

#include "place_model.h"

/* The most comparisons spent on a closer fit of a plan. */
#define FIT_MAX 16384

/* The most units looked at to find pods with larger ones. */
#define EXCHANGE_MAX 32768

enum { POD_CHOSEN = 1, POD_REQUIRED = 2 };

struct search {
	struct place_state *s;
	const struct place_request *r;
	enum place_class class;
	uint32_t step;			/* nodes in one of what units offer: 1, or a segment */
	bool suspects;			/* may be used */
	uint32_t n;			/* wanted, in steps */
	uint32_t need_units, need_pods; /* that required nodes are in */
	uint64_t need;			/* what these must give, in steps; too many: they can't */
	uint32_t need_unit, need_pod;	/* the last of them */
};

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* ---- what is required and excluded: hidden from the counts while we decide ---- */

static void hide(struct place_state *s, uint32_t i, uint8_t flag)
{
	uint32_t unit = s->m->unit_of[i];

	s->flags[i] |= flag;
	if (!(s->flags[i] & NODE_FREE))
		return;
	s->free[unit]--;
	if (s->flags[i] & NODE_SUSPECT) {
		s->suspect[unit]--;
		s->suspects--;
	}
}

static void unhide(struct place_state *s, uint32_t i)
{
	uint32_t unit = s->m->unit_of[i];

	if (!(s->flags[i] & (NODE_EXCLUDED | NODE_REQUIRED)))
		return;
	s->flags[i] &= (uint8_t) ~(NODE_EXCLUDED | NODE_REQUIRED);
	s->need[unit] = 0;
	if (!(s->flags[i] & NODE_FREE))
		return;
	s->free[unit]++;
	if (s->flags[i] & NODE_SUSPECT) {
		s->suspect[unit]++;
		s->suspects++;
	}
}

static void unhide_all(struct place_state *s, const struct place_request *r)
{
	for (uint32_t i = 0; i < r->excluded_count; i++)
		if (r->excluded[i] < s->m->nodes)
			unhide(s, s->m->node[r->excluded[i]]);
	for (uint32_t i = 0; i < r->required_count; i++)
		if (r->required[i] < s->m->nodes)
			unhide(s, s->m->node[r->required[i]]);
}

static int hide_required(struct place_state *s, const struct place_request *r, uint32_t *count,
			 struct err *err)
{
	*count = 0;
	for (uint32_t i = 0; i < r->required_count; i++) {
		uint32_t node = r->required[i], at = node < s->m->nodes ? s->m->node[node] : 0;

		if (node >= s->m->nodes || s->flags[at] & NODE_EXCLUDED)
			return err_set(err, EINVAL,
				       "a required node is excluded, or there is none like it");
		if (!(s->flags[at] & NODE_FREE))
			return err_set(err, ENOSPC, "a required node is not free");
		if (r->strict && r->healthy && s->flags[at] & NODE_SUSPECT)
			return err_set(err, ENOSPC, "a required node is suspect");
		if (s->flags[at] & NODE_REQUIRED)
			continue;
		hide(s, at, NODE_REQUIRED);
		s->need[s->m->unit_of[at]]++;
		++*count;
	}
	return 0;
}

static int hide_all(struct place_state *s, const struct place_request *r, uint32_t *required,
		    struct err *err)
{
	for (uint32_t i = 0; i < r->excluded_count; i++) {
		uint32_t at = r->excluded[i];

		if (at < s->m->nodes && !(s->flags[s->m->node[at]] & NODE_EXCLUDED))
			hide(s, s->m->node[at], NODE_EXCLUDED);
	}
	return hide_required(s, r, required, err);
}

/* ---- what is on offer ---- */

static bool wholly_free(const struct place_state *s, uint32_t unit)
{
	return s->free[unit] + s->need[unit] == s->up[unit];
}

static uint32_t needed(const struct search *q, uint32_t unit)
{
	return (q->s->need[unit] + q->step - 1) / q->step;
}

/* Fills cap, pod_cap and what the search knows of required nodes. */
static void count_offers(struct search *q)
{
	struct place_state *s = q->s;
	const struct place_model *m = s->m;

	q->need_units = q->need_pods = 0;
	q->need = 0;
	for (uint32_t p = 0; p <= m->pods; p++) {
		bool need = false;

		s->pod_cap[p] = 0;
		for (uint32_t u = m->pod_first[p]; u < m->pod_first[p + 1]; u++) {
			uint32_t out = q->suspects ? 0 : s->suspect[u];

			s->cap[u] = (s->need[u] + s->free[u] - out) / q->step;
			s->pod_cap[p] += s->cap[u];
			if (!s->need[u])
				continue;
			q->need =
				needed(q, u) > s->cap[u] ? UINT64_MAX / 2 : q->need + needed(q, u);
			q->need_units++;
			q->need_unit = u;
			need = true;
		}
		if (need) {
			q->need_pods++;
			q->need_pod = p;
		}
	}
}

/* The units that the fabric knows, those that offer most first, into order. */
static void sort_offers(struct place_state *s)
{
	const struct place_model *m = s->m;
	uint32_t sum = 0;

	memset(s->bucket, 0, ((size_t)m->largest + 1) * sizeof(*s->bucket));
	for (uint32_t u = 0; u < m->units; u++)
		s->bucket[s->cap[u]]++;
	for (uint32_t cap = m->largest + 1; cap-- > 0;) {
		uint32_t count = s->bucket[cap];

		s->bucket[cap] = sum;
		sum += count;
	}
	for (uint32_t u = 0; u < m->units; u++)
		s->order[s->bucket[s->cap[u]]++] = u;
}

static uint64_t offered(const struct place_state *s, uint32_t first, uint32_t end)
{
	uint64_t sum = 0;

	for (uint32_t p = first; p < end; p++)
		sum += s->pod_cap[p];
	return sum;
}

/* Whether all required nodes are in these pods. */
static bool holds_needed(const struct search *q, uint32_t first, uint32_t end)
{
	uint32_t inside = 0;

	if (q->need_pods == 0)
		return true;
	if (q->need_pod < first || q->need_pod >= end)
		return false;
	for (uint32_t u = q->s->m->pod_first[first]; u < q->s->m->pod_first[end]; u++)
		inside += q->s->need[u] > 0;
	return inside == q->need_units;
}

static bool good_unit(const struct search *q, uint32_t unit)
{
	return q->need_units == 0 || (q->need_units == 1 && q->need_unit == unit);
}

static bool good_pod(const struct search *q, uint32_t pod)
{
	return q->need_pods == 0 || (q->need_pods == 1 && q->need_pod == pod);
}

static bool is_island(const struct place_model *m, uint32_t group)
{
	return m->group[group].parent == PLACE_NONE;
}

/* ---- plans ---- */

static void plan_add(struct place_state *s, struct place_plan *plan, uint32_t unit)
{
	plan->unit[plan->count++] = unit;
	s->unit_used[unit] = 1;
	plan->pods += !s->pod_used[s->m->pod_of[unit]];
	s->pod_used[s->m->pod_of[unit]] = 1;
}

/* Ends a plan: its cost, and the marks are gone. */
static void plan_end(struct place_state *s, struct place_plan *plan)
{
	plan->cost = s->m->unit_weight * (plan->count - 1) + s->m->pod_weight * (plan->pods - 1);
	for (uint32_t i = 0; i < plan->count; i++) {
		s->unit_used[plan->unit[i]] = 0;
		s->pod_used[s->m->pod_of[plan->unit[i]]] = 0;
	}
}

/* The pods a plan may take from: a range, and if only is set those of it that are marked there. */
struct room {
	uint32_t first, end;
	const uint8_t *only;
};

static bool in_room(const struct place_state *s, const struct room *room, uint32_t unit)
{
	uint32_t pod = s->m->pod_of[unit];

	return pod >= room->first && pod < room->end && (!room->only || room->only[pod]);
}

/*
 * The unit outside the plan that offers least, but at least that much; one in a pod that is used is
 * closer. PLACE_NONE: there is none.
 */
static uint32_t tightest(const struct place_state *s, const struct room *room, uint32_t least_cap)
{
	uint32_t best = PLACE_NONE;

	for (uint32_t u = s->m->pod_first[room->first]; u < s->m->pod_first[room->end]; u++) {
		bool used = s->pod_used[s->m->pod_of[u]];

		if (s->cap[u] < least_cap || s->unit_used[u] || !in_room(s, room, u))
			continue;
		if (best == PLACE_NONE || used > s->pod_used[s->m->pod_of[best]] ||
		    (used == s->pod_used[s->m->pod_of[best]] && s->cap[u] < s->cap[best]))
			best = u;
	}
	return best;
}

/* Replaces units by smaller ones of the same pods as long as enough is left. */
static void fit_closer(struct search *q, struct place_plan *plan, const struct room *room,
		       uint64_t spare)
{
	struct place_state *s = q->s;
	uint32_t units = s->m->pod_first[room->end] - s->m->pod_first[room->first];

	if ((uint64_t)plan->count * units > FIT_MAX)
		return;
	for (uint32_t i = plan->count; i-- > 0 && spare > 0;) {
		uint32_t old = plan->unit[i], cap = s->cap[old], other;

		if (s->need[old])
			continue;
		other = tightest(s, room, cap > spare ? cap - (uint32_t)spare : 1);
		if (other == PLACE_NONE || s->cap[other] >= cap ||
		    s->m->pod_of[other] != s->m->pod_of[old])
			continue;
		s->unit_used[old] = 0;
		s->unit_used[other] = 1;
		plan->unit[i] = other;
		spare -= cap - s->cap[other];
	}
}

/* Adds units with that offer, those in used pods first; the sum so far. */
static uint64_t add_equal(struct search *q, struct place_plan *plan, const struct room *room,
			  uint32_t at, uint32_t end, uint64_t sum)
{
	struct place_state *s = q->s;

	for (int used = 1; used >= 0; used--)
		for (uint32_t i = at; i < end && sum < q->n; i++) {
			uint32_t u = s->order[i];

			if (s->unit_used[u] || !in_room(s, room, u) ||
			    (used && !s->pod_used[s->m->pod_of[u]]))
				continue;
			if (sum + s->cap[u] >= q->n)
				u = tightest(s, room, (uint32_t)(q->n - sum));
			plan_add(s, plan, u);
			sum += s->cap[u];
		}
	return sum;
}

/* The fewest units in that room, which has enough. */
static void plan_fewest(struct search *q, struct place_plan *plan, const struct room *room)
{
	struct place_state *s = q->s;
	uint32_t first = s->m->pod_first[room->first], end = s->m->pod_first[room->end];
	uint64_t sum = 0;

	plan->count = plan->pods = 0;
	for (uint32_t u = first; q->need_units && u < end; u++)
		if (s->need[u]) {
			plan_add(s, plan, u);
			sum += s->cap[u];
		}
	for (uint32_t i = 0, next; i < s->m->units && sum < q->n; i = next) {
		for (next = i + 1;
		     next < s->m->units && s->cap[s->order[next]] == s->cap[s->order[i]];)
			next++;
		sum = add_equal(q, plan, room, i, next, sum);
	}
	if (sum > q->n)
		fit_closer(q, plan, room, sum - q->n);
	plan_end(s, plan);
}

/* What is taken of each unit of the plan: all, but the rest stays where most is. */
static void plan_take(struct search *q, const struct place_plan *plan)
{
	struct place_state *s = q->s;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < plan->count; i++) {
		s->take[plan->unit[i]] = s->cap[plan->unit[i]];
		sum += s->cap[plan->unit[i]];
	}
	while (sum > q->n) {
		uint32_t most = plan->unit[0], part;

		for (uint32_t i = 1; i < plan->count; i++) {
			uint32_t u = plan->unit[i];

			if (s->take[u] - needed(q, u) > s->take[most] - needed(q, most))
				most = u;
		}
		part = least((uint32_t)(sum - q->n), s->take[most] - needed(q, most));
		s->take[most] -= part;
		sum -= part;
	}
}

/* ---- one unit ---- */

/* Opening a wholly free unit is the last thing to do; then the tightest one, in the fullest pod. */
static bool better_unit(const struct search *q, uint32_t unit, uint32_t best)
{
	const struct place_state *s = q->s;
	uint64_t nodes = (uint64_t)q->n * q->step;
	bool opens = nodes < s->up[unit] && wholly_free(s, unit);
	bool best_opens = nodes < s->up[best] && wholly_free(s, best);

	if (opens != best_opens)
		return best_opens;
	if (s->cap[unit] != s->cap[best])
		return s->cap[unit] < s->cap[best];
	return s->pod_cap[s->m->pod_of[unit]] < s->pod_cap[s->m->pod_of[best]];
}

static bool in_unit(struct search *q)
{
	struct place_state *s = q->s;
	uint32_t best = PLACE_NONE;

	for (uint32_t u = 0; u < s->m->units; u++)
		if (s->cap[u] >= q->n && good_unit(q, u) &&
		    (best == PLACE_NONE || better_unit(q, u, best)))
			best = u;
	if (best == PLACE_NONE)
		return false;
	s->take[best] = q->n;
	return true;
}

/* ---- one pod ---- */

/* For each pod, how many of its units are needed, and what those offer together. */
static void count_pods(struct search *q)
{
	struct place_state *s = q->s;
	const struct place_model *m = s->m;

	memset(s->pod_sum, 0, m->pods * sizeof(*s->pod_sum));
	memset(s->pod_units, 0, m->pods * sizeof(*s->pod_units));
	for (uint32_t u = 0; q->need_units && u < m->units; u++)
		if (s->need[u]) {
			s->pod_sum[m->pod_of[u]] += s->cap[u];
			s->pod_units[m->pod_of[u]]++;
		}
	for (uint32_t i = 0; i < m->units; i++) {
		uint32_t u = s->order[i], pod = m->pod_of[u];

		if (s->need[u] || s->pod_sum[pod] >= q->n)
			continue;
		s->pod_sum[pod] += s->cap[u];
		s->pod_units[pod]++;
	}
}

/* The pod that needs the fewest units, then the one with the least left in them, then the fullest.
 */
static uint32_t best_pod(struct search *q)
{
	struct place_state *s = q->s;
	uint32_t best = PLACE_NONE;

	count_pods(q);
	for (uint32_t p = 0; p < s->m->pods; p++) {
		if (s->pod_cap[p] < q->n || !good_pod(q, p))
			continue;
		if (best == PLACE_NONE || s->pod_units[p] < s->pod_units[best] ||
		    (s->pod_units[p] == s->pod_units[best] &&
		     (s->pod_sum[p] < s->pod_sum[best] ||
		      (s->pod_sum[p] == s->pod_sum[best] && s->pod_cap[p] < s->pod_cap[best]))))
			best = p;
	}
	return best;
}

static bool in_pod(struct search *q)
{
	uint32_t pod = best_pod(q);

	if (pod == PLACE_NONE)
		return false;
	plan_fewest(q, &q->s->plan[0], &(struct room){ pod, pod + 1, NULL });
	plan_take(q, &q->s->plan[0]);
	return true;
}

/* ---- more than one pod ---- */

/* The lowest group with enough room, and of these the fullest. */
static uint32_t lowest_group(const struct search *q)
{
	const struct place_model *m = q->s->m;
	uint32_t best = PLACE_NONE;
	uint64_t best_cap = 0;

	for (uint32_t g = 0; g < m->groups; g++) {
		const struct place_group *group = &m->group[g];
		uint64_t cap = offered(q->s, group->first, group->end);

		if (cap < q->n || !holds_needed(q, group->first, group->end))
			continue;
		if (best == PLACE_NONE || group->height < m->group[best].height ||
		    (group->height == m->group[best].height && cap < best_cap)) {
			best = g;
			best_cap = cap;
		}
	}
	return best;
}

/* The next pod to use: the tightest that has the rest, else the one with most. */
static uint32_t next_pod(const struct place_state *s, uint32_t first, uint32_t end, uint64_t rest,
			 const uint8_t *used)
{
	uint32_t best = PLACE_NONE;

	for (uint32_t p = first; p < end; p++) {
		bool fits = s->pod_cap[p] >= rest, best_fits;

		if (used[p] || s->pod_cap[p] == 0)
			continue;
		best_fits = best != PLACE_NONE && s->pod_cap[best] >= rest;
		if (best == PLACE_NONE || fits > best_fits ||
		    (fits && best_fits && s->pod_cap[p] < s->pod_cap[best]) ||
		    (!fits && !best_fits && s->pod_cap[p] > s->pod_cap[best]))
			best = p;
	}
	return best;
}

/* How many units of the marked pods have enough; at most limit are counted. */
static uint32_t units_of(const struct search *q, const uint8_t *only, uint32_t limit)
{
	const struct place_state *s = q->s;
	uint64_t sum = 0;
	uint32_t count = 0;

	for (uint32_t i = 0; i < s->m->units && sum < q->n && count < limit; i++)
		if (only[s->m->pod_of[s->order[i]]]) {
			sum += s->cap[s->order[i]];
			count++;
		}
	return sum < q->n ? limit : count;
}

/* Exchanges one pod after the other for one outside with which fewer units are enough. */
static void exchange_pods(const struct search *q, uint8_t *only, uint32_t first, uint32_t end)
{
	uint32_t units = units_of(q, only, UINT32_MAX), found;

	for (uint32_t p = first; p < end; p++)
		for (uint32_t other = first; only[p] == POD_CHOSEN && other < end; other++) {
			if (only[other])
				continue;
			only[p] = 0;
			only[other] = POD_CHOSEN;
			found = units_of(q, only, units);
			if (found < units) {
				units = found;
				break;
			}
			only[p] = POD_CHOSEN;
			only[other] = 0;
		}
}

/* The fewest pods of a range that has enough, and in these the fewest units. */
static void plan_pods(struct search *q, struct place_plan *plan, uint32_t first, uint32_t end)
{
	struct place_state *s = q->s;
	uint8_t *only = (uint8_t *)s->pod_sum; /* not used by now, and larger than needed */
	uint64_t sum = 0;
	uint32_t chosen = 0;

	memset(only, 0, (size_t)s->m->pods + 1);
	for (uint32_t u = s->m->pod_first[first]; q->need_units && u < s->m->pod_first[end]; u++)
		if (s->need[u] && !only[s->m->pod_of[u]]) {
			only[s->m->pod_of[u]] = POD_REQUIRED;
			sum += s->pod_cap[s->m->pod_of[u]];
		}
	for (; sum < q->n; chosen++) {
		uint32_t p = next_pod(s, first, end, q->n - sum, only);

		only[p] = POD_CHOSEN;
		sum += s->pod_cap[p];
	}
	if ((uint64_t)chosen * (end - first) * s->m->units <= EXCHANGE_MAX)
		exchange_pods(q, only, first, end);
	plan_fewest(q, plan, &(struct room){ first, end, only });
}

static bool in_group(struct search *q, uint32_t pod)
{
	struct place_state *s = q->s;
	const struct place_model *m = s->m;
	uint32_t g;

	g = lowest_group(q);
	if (g == PLACE_NONE)
		return false;
	if (pod == PLACE_NONE)
		plan_pods(q, &s->plan[0], m->group[g].first, m->group[g].end);
	else
		plan_fewest(q, &s->plan[0], &(struct room){ pod, pod + 1, NULL });
	plan_fewest(q, &s->plan[1], &(struct room){ m->group[g].first, m->group[g].end, NULL });
	plan_take(q, &s->plan[s->plan[1].cost < s->plan[0].cost]);
	return true;
}

/* ---- the classes ---- */

static bool compact(struct search *q)
{
	if (in_unit(q))
		return true;
	sort_offers(q->s);
	return in_group(q, best_pod(q));
}

static bool same_pod(struct search *q)
{
	if (in_unit(q))
		return true;
	sort_offers(q->s);
	return in_pod(q);
}

/* The fullest island with enough room. */
static uint32_t find_island(const struct search *q)
{
	const struct place_model *m = q->s->m;
	uint32_t best = PLACE_NONE;
	uint64_t best_cap = 0;

	for (uint32_t g = 0; g < m->groups; g++) {
		const struct place_group *group = &m->group[g];
		uint64_t cap;

		if (!is_island(m, g) || !holds_needed(q, group->first, group->end))
			continue;
		cap = offered(q->s, group->first, group->end);
		if (cap >= q->n && (best == PLACE_NONE || cap < best_cap)) {
			best = g;
			best_cap = cap;
		}
	}
	return best;
}

/* Takes what is required, and then the units that are used already, the smallest rest first. */
static bool anywhere(struct search *q)
{
	struct place_state *s = q->s;
	const struct place_model *m = s->m;
	uint32_t g = find_island(q), sum = 0;

	if (g == PLACE_NONE)
		return false;
	sort_offers(s);
	for (uint32_t u = 0; u < m->units; u++)
		sum += s->take[u] = needed(q, u);
	for (int whole = 0; whole <= 1; whole++)
		for (uint32_t i = m->units; i-- > 0 && sum < q->n;) {
			uint32_t u = s->order[i], pod = m->pod_of[u], part;

			if (wholly_free(s, u) != whole || pod < m->group[g].first ||
			    pod >= m->group[g].end)
				continue;
			part = least(q->n - sum, s->cap[u] - s->take[u]);
			s->take[u] += part;
			sum += part;
		}
	return true;
}

/* What a unit gives when none should give more than level. */
static uint32_t level_of(const struct search *q, uint32_t unit, uint32_t level)
{
	uint32_t part = least(q->s->cap[unit], level), need = needed(q, unit);

	return part > need ? part : need;
}

static uint64_t level_sum(const struct search *q, uint32_t first, uint32_t end, uint32_t level)
{
	uint64_t sum = 0;

	for (uint32_t u = first; u < end; u++)
		sum += level_of(q, u, level);
	return sum;
}

/* The island with enough room and the most units that have some. */
static uint32_t widest_island(const struct search *q)
{
	const struct place_model *m = q->s->m;
	uint32_t best = PLACE_NONE;
	uint64_t best_units = 0;

	for (uint32_t g = 0; g < m->groups; g++) {
		uint32_t first = m->group[g].first, end = m->group[g].end;
		uint64_t units;

		if (!is_island(m, g) || !holds_needed(q, first, end) ||
		    offered(q->s, first, end) < q->n)
			continue;
		units = level_sum(q, m->pod_first[first], m->pod_first[end], 1);
		if (best == PLACE_NONE || units > best_units) {
			best = g;
			best_units = units;
		}
	}
	return best;
}

/* The lowest water level that gives enough, and the surplus back from where least is left. */
static bool spread(struct search *q)
{
	struct place_state *s = q->s;
	const struct place_model *m = s->m;
	uint32_t g = widest_island(q), level = 1, first, end;
	uint64_t sum;

	if (g == PLACE_NONE)
		return false;
	first = m->pod_first[m->group[g].first];
	end = m->pod_first[m->group[g].end];
	for (uint32_t high = m->largest; level < high;) {
		uint32_t middle = level + (high - level) / 2;

		if (level_sum(q, first, end, middle) >= q->n)
			high = middle;
		else
			level = middle + 1;
	}
	sum = level_sum(q, first, end, level);
	for (uint32_t u = first; u < end; u++) {
		s->take[u] = level_of(q, u, level);
		if (q->class == PLACE_SPREAD && q->r->strict && s->take[u] > 1)
			return false;
	}
	sort_offers(s);
	for (uint32_t i = m->units; i-- > 0 && sum > q->n;) {
		uint32_t u = s->order[i];

		if (u >= first && u < end && s->take[u] == level && level > needed(q, u)) {
			s->take[u]--;
			sum--;
		}
	}
	return sum == q->n;
}

/* A job of one node does not use the fabric: it takes what others should not have. */
static bool single(struct search *q)
{
	struct place_state *s = q->s;
	const struct place_model *m = s->m;
	uint32_t best = PLACE_NONE;
	bool best_suspect = false;

	if (q->need_units == 0 && (s->free[m->units] > (q->suspects ? 0 : s->suspect[m->units])))
		best = m->units;
	for (uint32_t u = 0; u <= m->units; u++) {
		bool suspect = q->suspects && s->suspect[u];

		if (s->cap[u] == 0 || !good_unit(q, u))
			continue;
		if (best == PLACE_NONE || suspect > best_suspect ||
		    (suspect == best_suspect && best < m->units && u < m->units &&
		     better_unit(q, u, best))) {
			best = u;
			best_suspect = suspect;
		}
	}
	if (best == PLACE_NONE)
		return false;
	s->take[best] = 1;
	return true;
}

/* All that is free, in several islands and where the fabric doesn't know. */
static bool unconnected(struct search *q)
{
	struct place_state *s = q->s;
	uint64_t known = offered(s, 0, s->m->pods), all = known + s->cap[s->m->units];
	uint32_t rest = needed(q, s->m->units), n = q->n;

	if (all < n)
		return false;
	if (known < n - rest)
		rest = (uint32_t)(n - known);
	sort_offers(s);
	q->n = n - rest;
	if (q->n) {
		plan_pods(q, &s->plan[0], 0, s->m->pods);
		plan_take(q, &s->plan[0]);
	}
	q->n = n;
	s->take[s->m->units] = rest;
	return true;
}

/* The most that this class can have at once, in steps. */
static uint64_t most_for(const struct search *q)
{
	const struct place_state *s = q->s;
	const struct place_model *m = s->m;
	uint64_t most = 0;

	if (q->class == PLACE_SAME_LEAF) {
		for (uint32_t u = 0; u < m->units; u++)
			if (s->cap[u] > most && good_unit(q, u))
				most = s->cap[u];
		return most;
	}
	if (q->class == PLACE_SAME_POD) {
		for (uint32_t p = 0; p < m->pods; p++)
			if (s->pod_cap[p] > most && good_pod(q, p))
				most = s->pod_cap[p];
		return most;
	}
	for (uint32_t g = 0; g < m->groups; g++) {
		uint32_t first = m->group[g].first, end = m->group[g].end;
		uint64_t cap = 0;

		if (!is_island(m, g) || !holds_needed(q, first, end))
			continue;
		if (q->class == PLACE_SPREAD && q->r->strict)
			cap = level_sum(q, m->pod_first[first], m->pod_first[end], 1);
		else
			cap = offered(s, first, end);
		most = cap > most ? cap : most;
	}
	return most;
}

static bool run_class(struct search *q)
{
	switch (q->class) {
	case PLACE_ANY:
		return anywhere(q);
	case PLACE_SAME_LEAF:
		return in_unit(q);
	case PLACE_SAME_POD:
		return same_pod(q);
	case PLACE_SPREAD:
		return spread(q);
	default:
		return compact(q);
	}
}

/* Tries one class with or without suspects; how many nodes it can have is in q->n. */
static bool try_class(struct search *q, enum place_class class, bool suspects)
{
	uint64_t most;

	q->class = class;
	q->suspects = suspects;
	q->step = class == PLACE_SEGMENTS ? q->r->segment : 1;
	count_offers(q);
	memset(q->s->take, 0, ((size_t)q->s->m->units + 1) * sizeof(*q->s->take));
	q->n = q->r->max / q->step;
	if (q->n == 1 && q->r->max == 1)
		return single(q);
	most = most_for(q);
	if (q->n > most)
		q->n = (uint32_t)most;
	if (q->n == 0 || q->n < q->need || (uint64_t)q->n * q->step < q->r->min)
		return false;
	return run_class(q);
}

static bool try_unconnected(struct search *q, bool suspects)
{
	uint64_t all;

	q->class = PLACE_ANY;
	q->suspects = suspects;
	q->step = 1;
	count_offers(q);
	memset(q->s->take, 0, ((size_t)q->s->m->units + 1) * sizeof(*q->s->take));
	all = offered(q->s, 0, q->s->m->pods + 1);
	q->n = all < q->r->max ? (uint32_t)all : q->r->max;
	return q->n >= q->r->min && unconnected(q);
}

/* All that may be tried, the best first; what was given up by then. */
static bool try_all(struct search *q, unsigned int *given_up)
{
	const struct place_request *r = q->r;
	bool healthy = r->strict && r->healthy, alone = r->max == 1;
	bool closest = r->class == PLACE_ANY || r->class == PLACE_COMPACT;

	for (int suspects = alone && !r->healthy; suspects <= !healthy; suspects++) {
		*given_up = suspects && !alone ? PLACE_GAVE_HEALTH : 0;
		if (try_class(q, r->class, suspects))
			return true;
		if (r->strict || alone)
			continue;
		*given_up |= closest ? 0 : PLACE_GAVE_CLASS;
		if (!closest && try_class(q, PLACE_COMPACT, suspects))
			return true;
		*given_up |= PLACE_GAVE_FABRIC;
		/* a suspect node of the fabric is better than none of the fabric */
		if (suspects && (try_unconnected(q, false) || try_unconnected(q, true)))
			return true;
	}
	return false;
}

/* ---- the answer ---- */

/* The nodes of a unit that are taken, in order: required ones, healthy ones, then suspect ones. */
static uint32_t pick_in_unit(const struct search *q, uint32_t unit, uint32_t *nodes,
			     struct place_result *result)
{
	const struct place_state *s = q->s;
	uint32_t take = s->take[unit] * q->step - s->need[unit], count = 0;
	uint32_t healthy = s->free[unit] - s->suspect[unit], suspects;

	if (q->r->max == 1 && q->suspects) /* alone: suspects first */
		suspects = least(take, s->suspect[unit]);
	else
		suspects = take > healthy ? take - healthy : 0;
	healthy = take - suspects;
	for (uint32_t i = s->m->unit_first[unit]; i < s->m->unit_first[unit + 1]; i++) {
		uint8_t flags = s->flags[i];
		uint32_t *left = flags & NODE_SUSPECT ? &suspects : &healthy;

		if (!(flags & NODE_REQUIRED)) {
			if (!(flags & NODE_FREE) || flags & NODE_EXCLUDED || *left == 0)
				continue;
			--*left;
		}
		nodes[count++] = s->m->name[i];
		result->suspects += (flags & NODE_SUSPECT) != 0;
	}
	return count;
}

static void pick(const struct search *q, uint32_t *nodes, struct place_result *result)
{
	const struct place_state *s = q->s;
	const struct place_model *m = s->m;
	uint32_t pod = PLACE_NONE;

	for (uint32_t u = 0; u <= m->units; u++) {
		uint32_t count;

		if (s->take[u] == 0)
			continue;
		count = pick_in_unit(q, u, nodes + result->count, result);
		result->count += count;
		if (u == m->units) {
			result->unknown = count;
			continue;
		}
		result->units++;
		result->pods += m->pod_of[u] != pod;
		pod = m->pod_of[u];
	}
}

/* The fewest units of these that have n free nodes together; 0: they don't. */
static uint32_t fewest_units_now(struct place_state *s, uint32_t first, uint32_t end, uint32_t n)
{
	uint32_t used = 0;

	memset(s->bucket, 0, ((size_t)s->m->largest + 1) * sizeof(*s->bucket));
	for (uint32_t u = first; u < end; u++)
		s->bucket[s->free[u] + s->need[u]]++;
	for (uint32_t cap = s->m->largest; cap > 0; cap--) {
		if ((uint64_t)cap * s->bucket[cap] >= n)
			return used + (n + cap - 1) / cap;
		used += s->bucket[cap];
		n -= cap * s->bucket[cap];
	}
	return 0;
}

static uint32_t fewest_pods_now(struct place_state *s, uint32_t first, uint32_t end, uint32_t n)
{
	uint8_t *used = (uint8_t *)s->pod_sum;
	uint32_t count = 0;

	memset(used, 0, (size_t)s->m->pods + 1);
	for (uint64_t sum = 0; sum < n; count++) {
		uint32_t p = next_pod(s, first, end, n - sum, used);

		if (p == PLACE_NONE)
			return 0;
		used[p] = 1;
		sum += s->pod_cap[p];
	}
	return count;
}

/* Of sizes, the largest first, how many make n; 0: they don't. */
static uint32_t fewest_of(const uint32_t *sizes, uint32_t first, uint32_t end, uint32_t n)
{
	uint64_t sum = 0;

	for (uint32_t i = first; i < end; i++) {
		sum += sizes[i];
		if (sum >= n)
			return i - first + 1;
	}
	return 0;
}

static void keep_fewest(uint32_t *fewest, uint32_t found)
{
	if (found && (*fewest == 0 || found < *fewest))
		*fewest = found;
}

static void compare(struct search *q, struct place_result *r)
{
	struct place_state *s = q->s;
	const struct place_model *m = s->m;

	/* pod_cap of all that is free, whatever was tried last */
	q->suspects = true;
	q->step = 1;
	count_offers(q);
	for (uint32_t g = 0; g < m->groups; g++) {
		uint32_t first = m->group[g].first, end = m->group[g].end;

		if (!is_island(m, g))
			continue;
		keep_fewest(&r->units_now,
			    fewest_units_now(s, m->pod_first[first], m->pod_first[end], r->count));
		keep_fewest(&r->pods_now, fewest_pods_now(s, first, end, r->count));
		keep_fewest(&r->units_fewest, fewest_of(m->unit_sizes, m->pod_first[first],
							m->pod_first[end], r->count));
		keep_fewest(&r->pods_fewest, fewest_of(m->pod_sizes, first, end, r->count));
	}
}

/* Whether what the class asks for could come true when more nodes are free. */
static bool worth_waiting(const struct place_request *r, const struct place_result *result)
{
	bool pods = result->pods_fewest && result->pods > result->pods_fewest;
	bool units = result->units_fewest && result->units > result->units_fewest;

	if (result->count == 1 || r->class == PLACE_ANY || r->class == PLACE_SPREAD)
		return false;
	if (result->given_up & PLACE_GAVE_FABRIC)
		return result->pods_fewest > 0;
	if (r->class == PLACE_SAME_POD || r->class == PLACE_SEGMENTS)
		return pods || (r->class == PLACE_SEGMENTS && result->given_up & PLACE_GAVE_CLASS);
	return pods || units;
}

static int no_room(const struct search *q, struct err *err)
{
	const struct place_request *r = q->r;
	static const char *const where[] = { "anywhere connected",    "anywhere connected",
					     "in one unit",	      "in one pod",
					     "in units of their own", "in whole segments" };

	return err_set(err, ENOSPC, "%u free%s nodes are not to be had %s", r->min,
		       r->strict && r->healthy ? " healthy" : "",
		       r->strict ? where[r->class] : "at all");
}

static int check_request(const struct place_state *s, const struct place_request *r,
			 uint32_t required, struct err *err)
{
	if (r->min == 0 || r->max < r->min || required > r->max)
		return err_set(err, EINVAL, "%u to %u nodes with %u required: not possible", r->min,
			       r->max, required);
	if (r->max > s->m->nodes && r->min > s->m->nodes)
		return err_set(err, ENOSPC, "%u nodes: there are %u", r->min, s->m->nodes);
	if (r->class == PLACE_SEGMENTS && (r->segment == 0 || r->min % r->segment))
		return err_set(err, EINVAL, "%u nodes are no whole number of segments of %u",
			       r->min, r->segment);
	return 0;
}

static int decide(struct place_state *s, const struct place_request *request,
		  struct place_result *result, uint32_t *nodes, struct err *err)
{
	struct place_request r = *request;
	struct search q = { .s = s, .r = &r };
	uint32_t required;
	int rc = hide_all(s, request, &required, err);

	if (rc < 0)
		return rc;
	rc = check_request(s, request, required, err);
	if (rc < 0)
		return rc;
	r.max = least(r.max, s->m->nodes);
	r.min = r.min > required ? r.min : required;
	if (!try_all(&q, &result->given_up))
		return no_room(&q, err);
	pick(&q, nodes, result);
	result->suspects_avoided = s->suspects;
	for (uint32_t i = 0; i < result->count; i++)
		result->suspects_avoided -= (s->flags[s->m->node[nodes[i]]] &
					     (NODE_SUSPECT | NODE_REQUIRED)) == NODE_SUSPECT;
	if (result->suspects == 0)
		result->given_up &= ~(unsigned int)PLACE_GAVE_HEALTH;
	compare(&q, result);
	if (request->wait && worth_waiting(request, result))
		return err_set(err, EAGAIN, "%u units of %u pods, and %u of %u are possible",
			       result->units, result->pods, result->units_fewest,
			       result->pods_fewest);
	return 0;
}

int place_decide(struct place_state *s, const struct place_request *request,
		 struct place_result *result, uint32_t *nodes, struct err *err)
{
	int rc;

	memset(result, 0, sizeof(*result));
	rc = decide(s, request, result, nodes, err);
	unhide_all(s, request);
	return rc;
}

/* ---- how much fits ---- */

uint32_t place_fit_units(const struct place_state *s, uint32_t nodes)
{
	uint32_t fit = 0;

	for (uint32_t u = 0; nodes && u < s->m->units; u++)
		fit += s->free[u] / nodes;
	return fit;
}

uint32_t place_fit_pods(const struct place_state *s, uint32_t nodes)
{
	const struct place_model *m = s->m;
	uint32_t fit = 0;

	for (uint32_t p = 0; nodes && p < m->pods; p++) {
		uint32_t sum = 0;

		for (uint32_t u = m->pod_first[p]; u < m->pod_first[p + 1]; u++)
			sum += s->free[u];
		fit += sum / nodes;
	}
	return fit;
}
