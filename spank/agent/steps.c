/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * steps.c - see steps.h.
 *
 * A step goes through three states: it waits for its begin sample, it is sampled, it waits for its
 * end sample. Its record is made at the begin with what the packet says, kept in its timeline (so
 * that a later run can tell of it), and filled at the end from its summary. What went wrong on the
 * way is one sentence, the record's "partial": the first thing that is true is told.
 */
#include "steps_own.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "io.h"
#include "json.h"
#include "marker.h"
#include "source_processes.h"
#include "text.h"

#define SECOND INT64_C(1000000000)
#define END_WAIT_NS (5 * SECOND) /* longer than a hung file is waited for */
#define GAP_NS (5 * SECOND)	 /* a sample that far from its event does not stand for it */
#define SETTLE_NS (SECOND / 2)
#define TRIM_NS (60 * SECOND)

struct steps *steps_new(const struct steps_with *with)
{
	struct steps *s = calloc(1, sizeof(*s));

	if (s)
		s->with = *with;
	return s;
}

void step_free(struct step *step)
{
	if (!step)
		return;
	record_free(step->record);
	timeline_free(step->timeline);
	free(step->first.values);
	free(step->first.valid);
	summary_free(step->summary);
	timeline_view_free(step->earlier);
	free(step->partial);
	free(step->places);
	free(step);
}

void steps_free(struct steps *s)
{
	if (!s)
		return;
	while (s->first) {
		struct step *step = s->first;

		s->first = step->next;
		step_free(step);
	}
	free(s->values);
	free(s->valid);
	free(s);
}

size_t steps_count(const struct steps *s)
{
	return s->count;
}

static int64_t process_cpu_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

/* Steps that end keep the grid until they have ended: their own pace is the least surprise. */
static void set_grid(struct steps *s)
{
	int64_t smallest = 0;

	for (struct step *step = s->first; step; step = step->next)
		if (step->interval_ns && (!smallest || step->interval_ns < smallest))
			smallest = step->interval_ns;
	sampler_interval(s->with.sampler, smallest);
}

/* --- begin --------------------------------------------------------------------------------------
 */

/* What --fabric-sample asks for, within the admin's bounds; 0: begin and end only. */
static int64_t interval_of(const struct conf *conf, const char *sample)
{
	int64_t ns;

	if (!strcmp(sample, "off"))
		return 0;
	if (!interval_parse(sample, &ns))
		return conf->sample_ns;
	return ns < conf->sample_min_ns	  ? conf->sample_min_ns
	       : ns > conf->sample_max_ns ? conf->sample_max_ns
					  : ns;
}

/* "0,1,5" into the record. What is no list of indexes is unknown. */
static int set_gpus(struct record *r, const struct packet *p)
{
	char list[sizeof(p->gpus)], *save = NULL;
	uint64_t index;

	if (!p->gpus_known)
		return 0;
	r->gpus = calloc(RECORD_GPUS, sizeof(*r->gpus));
	if (!r->gpus)
		return -ENOMEM;
	snprintf(list, sizeof(list), "%s", p->gpus);
	for (char *word = strtok_r(list, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
		if (r->gpu_count == RECORD_GPUS || !u64_parse(word, INT32_MAX, &index)) {
			r->gpu_count = 0;
			return 0;
		}
		r->gpus[r->gpu_count++] = (int32_t)index;
	}
	r->gpus_known = true;
	return 0;
}

static struct record *record_of(const struct steps *s, const struct packet *p, struct err *err)
{
	struct record *r = record_new();

	if (!r || !(r->node = strdup(s->with.node)) || set_gpus(r, p) < 0 ||
	    (p->class[0] && !(r->class = strdup(p->class)))) {
		err_set(err, ENOMEM, "out of memory");
		record_free(r);
		return NULL;
	}
	if (record_make_id(r->id, err) < 0) {
		record_free(r);
		return NULL;
	}
	r->job = p->job;
	r->step = p->step;
	r->uid = p->uid;
	r->node_index = p->node_index;
	r->node_count = p->node_count;
	r->tasks = p->tasks;
	r->cores = p->cores;
	r->begin_ns = r->end_ns = p->began_ns;
	return r;
}

char *step_timeline_path(const struct steps *s, const struct record *r)
{
	char step[STEP_TEXT];

	return io_format("%s/%u.%s.%s.db", s->with.timelines, r->job, step_format(r->step, step),
			 r->id);
}

void steps_timeline_trouble(struct steps *s, const struct err *err)
{
	if (!s->told_timeline)
		agent_say(s->with.log, LOG_WARNING, "%s; records go on without timelines",
			  err->text);
	s->told_timeline = true;
}

/*
 * A step without a timeline has its record all the same. It is started with the first sample of the
 * grid: launching a step is no moment to make a database, and a step that ends before has no more
 * to tell than its record does.
 */
static void start_timeline(struct steps *s, struct step *step)
{
	char *path = step_timeline_path(s, step->record);
	struct err err = { "" };

	if (!path)
		return;
	io_mkdirs(s->with.timelines, 0700, NULL); /* the disk may have come, or come back */
	step->timeline = timeline_create(path, step->record, s->with.conf->spool_max / 4, &err);
	if (!step->timeline)
		steps_timeline_trouble(s, &err);
	else
		s->told_timeline = false;
	free(path);
}

void step_partial(struct step *step, const char *fmt, ...)
{
	va_list ap;

	if (step->partial[0])
		return;
	va_start(ap, fmt);
	vsnprintf(step->partial, RECORD_TEXT, fmt, ap);
	va_end(ap);
}

/* A name more in shared_with, each once and not for ever. */
static void add_shared(struct step *step, const struct record *with)
{
	struct record *r = step->record;
	char text[STEP_TEXT], name[32];

	snprintf(name, sizeof(name), "%u.%s", with->job, step_format(with->step, text));
	for (size_t i = 0; i < r->shared_count; i++)
		if (!strcmp(r->shared_with[i], name))
			return;
	if (r->shared_count == RECORD_SHARED)
		return;
	if (!r->shared_with)
		r->shared_with = calloc(RECORD_SHARED, sizeof(*r->shared_with));
	if (r->shared_with && (r->shared_with[r->shared_count] = strdup(name)))
		r->shared_count++;
	else
		step_partial(step, OUT_OF_MEMORY);
}

/*
 * Tells sfabricctld: once for a step, by its first node, and for the batch step. Not at once, but
 * when the launch is over; a step that ends before is told of by its record.
 */
static void send_begin(struct steps *s, const struct record *r)
{
	json_object *object = json_object_new_object();
	char step[STEP_TEXT], *line = NULL;
	int rc = object ? 0 : -ENOMEM;

	if (r->node_index != 0) {
		json_object_put(object);
		return;
	}
	rc = rc ? rc : json_put_int(object, "job", r->job);
	rc = rc ? rc : json_put_string(object, "step", step_format(r->step, step));
	rc = rc ? rc : json_put_int(object, "uid", r->uid);
	rc = rc ? rc : json_put_string(object, "node", r->node);
	rc = rc ? rc : json_put_int(object, "node_index", r->node_index);
	rc = rc ? rc : json_put_int(object, "node_count", r->node_count);
	if (rc == 0 && r->class)
		rc = json_put_string(object, "class", r->class);
	rc = rc ? rc : json_put_int(object, "began_ns", r->begin_ns);
	if (rc == 0)
		line = json_line(object);
	if (line)
		sender_put(s->with.sender, SPOOL_BEGIN, r->id, line);
	free(line);
	json_object_put(object);
}

/* The plugin's CLOCK_MONOTONIC is ours, but what it says comes from outside. */
static int64_t began_mono(const struct packet *p, int64_t now)
{
	return p->began_mono_ns > 0 && p->began_mono_ns <= now ? p->began_mono_ns : now;
}

struct step *step_new(struct steps *s, const struct packet *p, struct err *err)
{
	struct step *step = calloc(1, sizeof(*step));

	if (!step) {
		err_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	step->record = record_of(s, p, err);
	step->interval_ns = interval_of(s->with.conf, p->sample);
	step->began_mono_ns = began_mono(p, io_mono_ns());
	step->summary = summary_new(step->interval_ns);
	step->partial = calloc(1, RECORD_TEXT);
	if (step->record && step->summary && step->partial &&
	    summary_add_series(step->summary, &processes_series) == 0) {
		step->record->interval_ns = step->interval_ns;
		return step;
	}
	if (step->record)
		err_set(err, ENOMEM, "out of memory");
	step_free(step);
	return NULL;
}

/* A step without a marker is followed as well: only a restart of sfabricd would end that. */
static void mark(struct steps *s, struct step *step, const struct packet *begin, pid_t stepd)
{
	struct marker m = { .stepd = stepd, .begin = *begin };
	struct err err = { "" };

	memcpy(m.id, step->record->id, sizeof(m.id));
	step->marked = marker_write(s->with.markers, &m, &err) == 0;
	if (!step->marked && !s->told_marker)
		agent_say(s->with.log, LOG_WARNING, "%s; steps go on, but not over a restart",
			  err.text);
	s->told_marker = !step->marked;
}

struct step *steps_begin(struct steps *s, const struct packet *p, pid_t stepd)
{
	struct err err = { "" };
	struct step *step;

	if (s->count >= STEPS_MAX) {
		agent_say(s->with.log, LOG_WARNING,
			  "job %u: more than %d steps on this node: not followed", p->job,
			  STEPS_MAX);
		return NULL;
	}
	step = step_new(s, p, &err);
	if (!step) {
		agent_say(s->with.log, LOG_WARNING, "job %u: not followed: %s", p->job, err.text);
		return NULL;
	}
	step_enter(s, step, stepd); /* first of all: the rest can wait */
	mark(s, step, p, stepd);
	return step;
}

void step_enter(struct steps *s, struct step *step, pid_t stepd)
{
	const struct record *r = step->record;

	step->key = ++s->keys;
	step->cost_begin_us = process_cpu_us();
	if (stepd > 0)
		sampler_watch(s->with.sampler, step->key, stepd, r->job, r->step);
	step->begin_ticket = sampler_request(s->with.sampler);
	for (struct step *other = s->first; other; other = other->next) {
		if (other->ending)
			continue;
		add_shared(other, step->record);
		add_shared(step, other->record);
	}
	step->next = s->first;
	s->first = step;
	s->count++;
	set_grid(s);
}

void steps_task(struct steps *s, struct step *step, pid_t pid)
{
	sampler_task(s->with.sampler, step->key, pid);
}

/* --- end ----------------------------------------------------------------------------------------
 */

static void explain_gaps(struct steps *s, struct step *step)
{
	struct record *r = step->record;
	int64_t allowed = step->interval_ns * 2 > GAP_NS ? step->interval_ns * 2 : GAP_NS;
	char path[PATH_MAX];

	if (sampler_hung(s->with.sampler, path, sizeof(path)))
		step_partial(step, "reading %.200s has not come back", path);
	if (step->blind)
		step_partial(step, "no sample was taken before the step ended");
	else if (r->samples < 2)
		step_partial(step, "%s sample was taken", r->samples ? "only one" : "no");
	if (r->begin_gap_ns > allowed)
		step_partial(step, "the first sample is %.1f s behind the begin",
			     (double)r->begin_gap_ns / 1e9);
	if (r->end_gap_ns > GAP_NS || r->end_gap_ns < -GAP_NS)
		step_partial(step, "the last sample is %.1f s %s the end",
			     (double)llabs(r->end_gap_ns) / 1e9,
			     r->end_gap_ns > 0 ? "behind" : "before");
}

/* Left unfinished, a later run would make a second record of it. */
static void drop_timeline(struct steps *s, struct step *step, const struct err *err)
{
	steps_timeline_trouble(s, err);
	timeline_discard(step->timeline);
	step->timeline = NULL;
}

static void seal_timeline(struct steps *s, struct step *step)
{
	struct err err = { "" };

	if (step->timeline && timeline_seal(step->timeline, step->record, &err) < 0)
		drop_timeline(s, step, &err);
}

static void finish_timeline(struct steps *s, struct step *step)
{
	struct err err = { "" };

	if (step->timeline && timeline_finish(step->timeline, &err) < 0)
		steps_timeline_trouble(s, &err);
	step->timeline = NULL;
}

static void set_clock(struct steps *s, struct record *r)
{
	r->clock_known =
		sender_clock(s->with.sender, io_mono_ns(), &r->clock_offset_ns, &r->clock_bound_ns);
}

/* False: it is lost, and may be made again. */
bool steps_send(struct steps *s, const struct record *r)
{
	char *line = record_line(r), step[STEP_TEXT];
	int code = line ? 0 : errno;
	bool sent = line && sender_put(s->with.sender, SPOOL_RECORD, r->id, line) >= 0;

	if (!line)
		agent_say(s->with.log, LOG_ERR, "%u.%s: no record: %s", r->job,
			  step_format(r->step, step), strerror(code));
	free(line);
	return sent || code == E2BIG;
}

/* The step leaves the table, and its record goes. */
static void finish(struct steps *s, struct step *step)
{
	struct record *r = step->record;
	char trouble[RECORD_TEXT];

	for (struct step **at = &s->first; *at; at = &(*at)->next)
		if (*at == step) {
			*at = step->next;
			break;
		}
	s->count--;
	sampler_unwatch(s->with.sampler, step->key);
	r->end_gap_ns = r->samples ? step->last_mono_ns - step->ended_mono_ns : 0;
	r->cost_us = process_cpu_us() - step->cost_begin_us;
	explain_gaps(s, step);
	if (!step->blind && summary_fill(step->summary, r) < 0)
		step_partial(step, OUT_OF_MEMORY);
	if (!step->blind && summary_trouble(step->summary, trouble, sizeof(trouble)))
		step_partial(step, "%s", trouble);
	if (step->partial[0]) {
		r->partial = step->partial;
		step->partial = NULL;
	}
	if (step->due_ns && step->ended_mono_ns - step->due_ns > step->interval_ns)
		r->missed += (uint32_t)((step->ended_mono_ns - step->due_ns) / step->interval_ns);
	set_clock(s, r);
	/* In this order a kill at any moment neither loses the record nor makes another of it. */
	seal_timeline(s, step);
	if (steps_send(s, r)) {
		finish_timeline(s, step);
		if (step->marked)
			marker_remove(s->with.markers, r);
	}
	step_free(step);
	set_grid(s);
}

static void set_end(struct record *r, const struct packet *end)
{
	if (!end)
		r->end = strdup("lost");
	else if (end->status_known && WIFSIGNALED(end->status))
		r->end = io_format("signal %d", WTERMSIG(end->status));
	else if (end->status_known && WIFEXITED(end->status))
		r->end = io_format("exit %d", WEXITSTATUS(end->status));
	if (end)
		r->hooks_us = end->hooks_us;
}

/*
 * When the step ended: by the packet if it is sensible, it may have waited for us; else now.
 * Returns that by CLOCK_MONOTONIC.
 */
static int64_t set_end_time(struct record *r, const struct packet *end, int64_t began_mono_ns)
{
	int64_t now = io_now_ns(), mono = io_mono_ns(), ago = end ? now - end->ended_ns : 0;

	if (ago < 0 || ago > mono - began_mono_ns)
		ago = 0;
	r->end_ns = now - ago;
	r->elapsed_ns = mono - ago - began_mono_ns;
	return mono - ago;
}

/*
 * Its slurmstepd was gone already when this sfabricd came, and the counters have gone on since:
 * what the earlier one saw stands.
 */
static void end_orphan(struct steps *s, struct step *step, const struct packet *end)
{
	struct record *r = step->record;

	if (!end) {
		step->ended_mono_ns = r->samples ? step->last_mono_ns : step->began_mono_ns;
		r->elapsed_ns = step->ended_mono_ns - step->began_mono_ns;
		r->end_ns = r->begin_ns + r->elapsed_ns;
	}
	step_partial(step, "sfabricd was not there when the step ended");
	finish(s, step);
}

void steps_end(struct steps *s, struct step *step, const struct packet *end)
{
	step->ending = true;
	step->end_ticket = sampler_request(s->with.sampler);
	step->deadline_ns = io_mono_ns() + END_WAIT_NS;
	set_end(step->record, end);
	step->ended_mono_ns = set_end_time(step->record, end, step->began_mono_ns);
	if (step->orphan)
		end_orphan(s, step, end);
	else if (step->marked && end)
		marker_add_end(s->with.markers, step->record, end, NULL);
}

struct step *steps_find(struct steps *s, const struct packet *end)
{
	for (struct step *step = s->first; step; step = step->next)
		if (step->taken_over && !step->ending && step->record->job == end->job &&
		    step->record->step == end->step && step->record->begin_ns == end->began_ns)
			return step;
	return NULL;
}

void steps_end_alone(struct steps *s, const struct packet *end)
{
	struct err err = { "" };
	struct record *r = record_of(s, end, &err);

	if (!r) {
		agent_say(s->with.log, LOG_WARNING, "job %u: no record: %s", end->job, err.text);
		return;
	}
	set_end(r, end);
	set_end_time(r, end, began_mono(end, io_mono_ns()));
	r->interval_ns = interval_of(s->with.conf, end->sample);
	r->partial = strdup("sfabricd did not follow the step from its begin to its end");
	set_clock(s, r);
	if (r->partial)
		steps_send(s, r);
	else
		agent_say(s->with.log, LOG_WARNING, "job %u: no record: out of memory", end->job);
	record_free(r);
}

/* --- samples ------------------------------------------------------------------------------------
 */

static bool make_room(struct steps *s, size_t count)
{
	uint64_t *values;
	bool *valid;

	if (count <= s->room)
		return true;
	values = reallocarray(s->values, count, sizeof(*values));
	if (values)
		s->values = values;
	valid = reallocarray(s->valid, count, sizeof(*valid));
	if (valid)
		s->valid = valid;
	if (!values || !valid)
		return false;
	s->room = count;
	return true;
}

static bool same_series(const struct series *a, const struct series *b)
{
	return !strcmp(a->name, b->name) && !strcmp(a->device, b->device) &&
	       !strcmp(a->source, b->source);
}

/* Where an earlier run's samples have the series, most likely at guess; 0 when they don't. */
static uint32_t earlier_place(const struct step *step, const struct series *series, size_t guess)
{
	size_t count = step->earlier ? step->earlier->series_count : 0;

	for (size_t i = 0; i < count; i++) {
		size_t place = (guess + i) % count;

		if (place > 0 && same_series(&step->earlier->series[place], series))
			return (uint32_t)place;
	}
	return 0;
}

/* Series that the step does not know yet go into its summary and its timeline, in the same order.
 */
static int add_series(struct steps *s, struct step *step, const struct sampler_series *all)
{
	uint32_t *more = reallocarray(step->places, all->count, sizeof(*more));
	struct err err = { "" };

	if (!more)
		return -ENOMEM;
	step->places = more;
	for (size_t i = step->place_count; i < all->count; i++) {
		uint32_t place = earlier_place(step, all->list[i], i + 1);

		if (!place) {
			place = (uint32_t)summary_series_count(step->summary);
			if (summary_add_series(step->summary, all->list[i]) < 0)
				return -ENOMEM;
			if (step->timeline &&
			    timeline_add_series(step->timeline, all->list[i], &err) < 0)
				drop_timeline(s, step, &err);
		}
		step->places[i] = place;
		step->place_count++;
	}
	return 0;
}

/*
 * The pass as the step has it: its own processes' value, then the node's in the order in which the
 * step met them. The count, or 0 without memory.
 */
static size_t spread(struct steps *s, struct step *step, const struct sampler_pass *pass)
{
	size_t known = pass->series ? pass->series->count : 0, count;

	if (known > step->place_count && add_series(s, step, pass->series) < 0)
		step_partial(step, OUT_OF_MEMORY);
	count = summary_series_count(step->summary);
	if (!make_room(s, count)) {
		step_partial(step, OUT_OF_MEMORY);
		return 0;
	}
	memset(s->valid, 0, count * sizeof(*s->valid));
	for (size_t i = 0; i < known && i < step->place_count; i++) {
		s->values[step->places[i]] = pass->values[i];
		s->valid[step->places[i]] = pass->valid[i];
	}
	for (size_t i = 0; i < pass->own_count; i++)
		if (pass->own[i].key == step->key) {
			s->values[0] = pass->own[i].cpu_us;
			s->valid[0] = pass->own[i].valid;
		}
	return count;
}

static void add_row(struct steps *s, struct step *step, const struct sampler_pass *pass,
		    enum sample_kind kind, size_t count)
{
	struct err err = { "" };
	int rc;

	if (!step->timeline)
		return;
	rc = timeline_add(step->timeline, pass->t_ns, pass->mono_ns, kind, s->values, s->valid,
			  count, &err);
	if (rc == -EFBIG && !s->told_full) {
		s->told_full = true;
		agent_say(s->with.log, LOG_NOTICE,
			  "job %u: its timeline has a quarter of spool_max and ends here",
			  step->record->job);
	} else if (rc < 0 && rc != -EFBIG) {
		steps_timeline_trouble(s, &err);
	}
}

/* Keeps the begin sample for the timeline. Without memory the timeline begins later. */
static void keep_first(struct steps *s, struct step *step, const struct sampler_pass *pass,
		       size_t count)
{
	struct row *row = &step->first;

	row->values = calloc(count ? count : 1, sizeof(*row->values));
	row->valid = calloc(count ? count : 1, sizeof(*row->valid));
	if (!row->values || !row->valid)
		return;
	memcpy(row->values, s->values, count * sizeof(*row->values));
	memcpy(row->valid, s->valid, count * sizeof(*row->valid));
	row->t_ns = pass->t_ns;
	row->mono_ns = pass->mono_ns;
	row->count = count;
}

/* Starts the timeline with all that is known of the step so far; all: the node's series. */
static void settle(struct steps *s, struct step *step, const struct sampler_series *all)
{
	size_t known = summary_series_count(step->summary) - 1;
	struct row *row = &step->first;
	struct err err = { "" };
	int rc;

	step->settled = true;
	start_timeline(s, step);
	if (!step->timeline)
		return;
	rc = timeline_add_series(step->timeline, &processes_series, &err);
	for (size_t i = 0; rc == 0 && all && i < known && i < all->count; i++)
		rc = timeline_add_series(step->timeline, all->list[i], &err);
	if (rc == 0 && row->count)
		rc = timeline_add(step->timeline, row->t_ns, row->mono_ns, SAMPLE_BEGIN,
				  row->values, row->valid, row->count, &err);
	if (rc < 0)
		drop_timeline(s, step, &err);
}

static void take_sample(struct steps *s, struct step *step, const struct sampler_pass *pass,
			enum sample_kind kind)
{
	struct record *r = step->record;
	size_t count = spread(s, step, pass);

	if (!count)
		return;
	summary_pass(step->summary, pass->mono_ns, s->values, s->valid, count, kind == SAMPLE_END);
	if (kind == SAMPLE_BEGIN && !step->settled)
		keep_first(s, step, pass, count);
	else
		add_row(s, step, pass, kind, count);
	if (r->samples == 0)
		r->begin_gap_ns = pass->mono_ns - step->began_mono_ns;
	r->samples++;
	step->last_mono_ns = pass->mono_ns;
}

/*
 * True when this instant of the grid is one of the step's, whose interval may be a longer one. The
 * begin sample stands for an instant that follows it within half an interval.
 */
static bool on_step_grid(struct step *step, const struct sampler_pass *pass)
{
	int64_t late;

	if (!pass->nominal_ns || !step->interval_ns || !step->begun)
		return false;
	if (step->due_ns == 0 && pass->mono_ns - step->began_mono_ns < step->interval_ns / 2)
		return false;
	if (step->due_ns == 0)
		step->due_ns = pass->nominal_ns;
	late = pass->nominal_ns - step->due_ns;
	/* The grid is at least as fine as the step's: the nearest instant is at most half of that
	 * off. */
	if (late < -step->interval_ns / 4)
		return false;
	if (late > step->interval_ns / 2)
		step->record->missed +=
			(uint32_t)((late + step->interval_ns / 2) / step->interval_ns);
	step->due_ns = pass->nominal_ns + step->interval_ns;
	return true;
}

static void begin_sample(struct steps *s, struct step *step, const struct sampler_pass *pass)
{
	step->begun = true;
	step->blind = step->ending && pass->mono_ns > step->ended_mono_ns;
	if (!step->interval_ns && !step->ending) /* no grid: there is no later moment for it */
		settle(s, step, NULL);
	if (!step->blind)
		take_sample(s, step, pass, SAMPLE_BEGIN);
}

/* True when the step is done. */
static bool step_pass(struct steps *s, struct step *step, const struct sampler_pass *pass)
{
	bool grid = on_step_grid(step, pass);

	if (!step->begun) {
		if (pass->ticket >= step->begin_ticket)
			begin_sample(s, step, pass);
		return step->begun && step->ending && pass->ticket >= step->end_ticket;
	}
	if (step->ending && pass->ticket >= step->end_ticket) {
		if (!step->blind)
			take_sample(s, step, pass, SAMPLE_END);
		return true;
	}
	if (grid && !step->ending) {
		if (!step->settled)
			settle(s, step, pass->series);
		take_sample(s, step, pass, SAMPLE_GRID);
	}
	return false;
}

void steps_pass(struct steps *s, const struct sampler_pass *pass)
{
	struct step *step, *next;

	for (step = s->first; step; step = next) {
		next = step->next;
		if (step_pass(s, step, pass))
			finish(s, step);
	}
}

/* --- by the clock -------------------------------------------------------------------------------
 */

static bool is_live(void *arg, const char *name)
{
	struct steps *s = arg;

	for (struct step *step = s->first; step; step = step->next)
		if (step->timeline && strstr(name, step->record->id))
			return true;
	return false;
}

static void trim(struct steps *s)
{
	struct err err = { "" };
	size_t deleted;

	if (timeline_trim(s->with.timelines, s->with.conf->spool_max, is_live, s, &deleted, &err) <
	    0)
		steps_timeline_trouble(s, &err);
	else if (deleted > 0)
		agent_say(s->with.log, LOG_INFO, "%zu old timelines deleted: spool_max is reached",
			  deleted);
}

void steps_tick(struct steps *s, int64_t mono_ns)
{
	struct step *step, *next;

	for (step = s->first; step; step = next) {
		next = step->next;
		if (!step->told && !step->ending && mono_ns - step->began_mono_ns >= SETTLE_NS) {
			step->told = true;
			send_begin(s, step->record);
		}
		if (step->ending && mono_ns >= step->deadline_ns) {
			char path[PATH_MAX];

			if (sampler_hung(s->with.sampler, path, sizeof(path)))
				step_partial(step, "reading %.200s has not come back", path);
			step_partial(step, "no sample could be taken at the end");
			finish(s, step);
		}
	}
	if (mono_ns - s->trim_ns > TRIM_NS) {
		s->trim_ns = mono_ns;
		trim(s);
	}
}

void steps_stop(struct steps *s, const char *why)
{
	while (s->first) {
		struct step *step = s->first;

		if (!step->ending)
			step->ended_mono_ns =
				set_end_time(step->record, NULL, step->began_mono_ns);
		step_partial(step, "%s", why);
		finish(s, step);
	}
}

void steps_leave(struct steps *s)
{
	while (s->first) {
		struct step *step = s->first;

		if (step->ending || !step->marked) {
			if (!step->ending)
				step->ended_mono_ns =
					set_end_time(step->record, NULL, step->began_mono_ns);
			step_partial(step, "sfabricd was stopped");
			finish(s, step);
			continue;
		}
		s->first = step->next;
		s->count--;
		step_free(step); /* its marker and its timeline stay */
	}
}
