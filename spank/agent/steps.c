/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * steps.c - see steps.h.
 *
 * A step goes through three states: it waits for its begin sample, it is sampled, it waits for its
 * end sample. Its record is made at the begin with what the packet says, kept in its timeline (so
 * that a later run can tell of it), and filled at the end from its summary. What went wrong on the
 * way is one sentence, the record's "partial": the first thing that is true is told.
 */
#include "steps.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "io.h"
#include "json.h"
#include "source_processes.h"
#include "summary.h"
#include "text.h"
#include "timeline.h"

#define SECOND INT64_C(1000000000)
#define END_WAIT_NS (5 * SECOND) /* longer than a hung file is waited for */
#define GAP_NS (5 * SECOND)	 /* a sample that far from its event does not stand for it */
#define SETTLE_NS (SECOND / 2)
#define TRIM_NS (60 * SECOND)
#define TIMELINES_MAX 65536

/* The begin sample until there is a timeline for it. */
struct row {
	int64_t t_ns, mono_ns;
	size_t count;
	uint64_t *values;
	bool *valid;
};

struct step {
	struct step *next;
	uint64_t key;
	struct record *record;
	struct timeline *timeline; /* NULL: not yet, or can't be written */
	struct row first;
	struct summary *summary;
	int64_t interval_ns;
	int64_t began_mono_ns, ended_mono_ns, last_mono_ns, due_ns, deadline_ns;
	int64_t cost_begin_us;
	uint64_t begin_ticket, end_ticket;
	bool begun, ending, blind;
	bool told;    /* sfabricctld has the begin */
	bool settled; /* the timeline was started, or tried */
	char *partial; /* RECORD_TEXT bytes, the record's in the end; "" nothing is known yet */
};

struct steps {
	struct steps_with with;
	struct step *first;
	size_t count;
	uint64_t keys;
	int64_t trim_ns;
	uint64_t *values; /* of one pass: own, then the node's */
	bool *valid;
	size_t room;
	bool told_timeline, told_full;
};

struct steps *steps_new(const struct steps_with *with)
{
	struct steps *s = calloc(1, sizeof(*s));

	if (s)
		s->with = *with;
	return s;
}

static void step_free(struct step *step)
{
	if (!step)
		return;
	record_free(step->record);
	timeline_free(step->timeline);
	free(step->first.values);
	free(step->first.valid);
	summary_free(step->summary);
	free(step->partial);
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

static char *timeline_path(const struct steps *s, const struct record *r)
{
	char step[STEP_TEXT];

	return io_format("%s/%u.%s.%s.db", s->with.timelines, r->job, step_format(r->step, step),
			 r->id);
}

static void timeline_trouble(struct steps *s, const struct err *err)
{
	if (!s->told_timeline)
		agent_say(s->with.log, LOG_WARNING, "%s; records go on without timelines",
			  err->text);
	s->told_timeline = true;
}

/*
 * A step without a timeline has its record all the same. It is started with the first sample of the
 * grid: launching a step is no moment to make a database, and a step that ends before has no more to
 * tell than its record does.
 */
static void start_timeline(struct steps *s, struct step *step)
{
	char *path = timeline_path(s, step->record);
	struct err err = { "" };

	if (!path)
		return;
	io_mkdirs(s->with.timelines, 0700, NULL); /* the disk may have come, or come back */
	step->timeline = timeline_create(path, step->record, s->with.conf->spool_max / 4, &err);
	if (!step->timeline)
		timeline_trouble(s, &err);
	else
		s->told_timeline = false;
	free(path);
}

/* Keeps the first sentence. */
__attribute__((format(printf, 2, 3))) static void set_partial(struct step *step, const char *fmt,
							      ...)
{
	va_list ap;

	if (step->partial[0])
		return;
	va_start(ap, fmt);
	vsnprintf(step->partial, RECORD_TEXT, fmt, ap);
	va_end(ap);
}

#define OUT_OF_MEMORY "sfabricd was out of memory"

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
		set_partial(step, OUT_OF_MEMORY);
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

static struct step *step_new(struct steps *s, const struct packet *p, struct err *err)
{
	struct step *step = calloc(1, sizeof(*step));

	if (!step) {
		err_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	step->record = record_of(s, p, err);
	step->interval_ns = interval_of(s->with.conf, p->sample);
	step->summary = summary_new(step->interval_ns);
	step->partial = calloc(1, RECORD_TEXT);
	if (step->record && step->summary && step->partial &&
	    summary_add_series(step->summary, &processes_series) == 0)
		return step;
	if (step->record)
		err_set(err, ENOMEM, "out of memory");
	step_free(step);
	return NULL;
}

struct step *steps_begin(struct steps *s, const struct packet *p, pid_t stepd)
{
	struct err err = { "" };
	struct step *step;
	int64_t now = io_mono_ns();

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
	step->key = ++s->keys;
	step->cost_begin_us = process_cpu_us();
	step->began_mono_ns = began_mono(p, now);
	step->record->interval_ns = step->interval_ns;
	if (stepd > 0)
		sampler_watch(s->with.sampler, step->key, stepd, p->job, p->step);
	step->begin_ticket = sampler_request(s->with.sampler); /* first of all: the rest can wait */
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
	return step;
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
		set_partial(step, "reading %.200s has not come back", path);
	if (step->blind)
		set_partial(step, "no sample was taken before the step ended");
	else if (r->samples < 2)
		set_partial(step, "%s sample was taken", r->samples ? "only one" : "no");
	if (r->begin_gap_ns > allowed)
		set_partial(step, "the first sample is %.1f s behind the begin",
			    (double)r->begin_gap_ns / 1e9);
	if (r->end_gap_ns > GAP_NS || r->end_gap_ns < -GAP_NS)
		set_partial(step, "the last sample is %.1f s %s the end",
			    (double)llabs(r->end_gap_ns) / 1e9,
			    r->end_gap_ns > 0 ? "behind" : "before");
}

/* Left unfinished, a later run would make a second record of it. */
static void drop_timeline(struct steps *s, struct step *step, const struct err *err)
{
	timeline_trouble(s, err);
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
		timeline_trouble(s, &err);
	step->timeline = NULL;
}

static void set_clock(struct steps *s, struct record *r)
{
	r->clock_known =
		sender_clock(s->with.sender, io_mono_ns(), &r->clock_offset_ns, &r->clock_bound_ns);
}

/* False: it is lost, and may be made again. */
static bool send_record(struct steps *s, const struct record *r)
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
	r->elapsed_ns = step->ended_mono_ns - step->began_mono_ns;
	r->end_gap_ns = r->samples ? step->last_mono_ns - step->ended_mono_ns : 0;
	r->cost_us = process_cpu_us() - step->cost_begin_us;
	explain_gaps(s, step);
	if (!step->blind && summary_fill(step->summary, r) < 0)
		set_partial(step, OUT_OF_MEMORY);
	if (!step->blind && summary_trouble(step->summary, trouble, sizeof(trouble)))
		set_partial(step, "%s", trouble);
	if (step->partial[0]) {
		r->partial = step->partial;
		step->partial = NULL;
	}
	if (step->due_ns && step->ended_mono_ns - step->due_ns > step->interval_ns)
		r->missed += (uint32_t)((step->ended_mono_ns - step->due_ns) / step->interval_ns);
	set_clock(s, r);
	/* In this order a kill at any moment neither loses the record nor makes another of it. */
	seal_timeline(s, step);
	if (send_record(s, r))
		finish_timeline(s, step);
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

/* When the step ended: by the packet if it is sensible, it may have waited for us; else now. */
static void set_end_time(struct step *step, const struct packet *end)
{
	int64_t now = io_now_ns(), mono = io_mono_ns(), ago = end ? now - end->ended_ns : 0;

	if (ago < 0 || ago > mono - step->began_mono_ns)
		ago = 0;
	step->ended_mono_ns = mono - ago;
	step->record->end_ns = now - ago;
}

void steps_end(struct steps *s, struct step *step, const struct packet *end)
{
	step->ending = true;
	step->end_ticket = sampler_request(s->with.sampler);
	step->deadline_ns = io_mono_ns() + END_WAIT_NS;
	set_end(step->record, end);
	set_end_time(step, end);
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
	r->end_ns = end->ended_ns > r->begin_ns ? end->ended_ns : r->begin_ns;
	r->elapsed_ns = r->end_ns - r->begin_ns;
	r->interval_ns = interval_of(s->with.conf, end->sample);
	r->partial = strdup("sfabricd did not follow the step from its begin to its end");
	set_clock(s, r);
	if (r->partial)
		send_record(s, r);
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

/* The node's values stand behind the step's own; these differ from step to step. */
static bool spread(struct steps *s, const struct sampler_pass *pass, size_t *count)
{
	*count = 1 + (pass->series ? pass->series->count : 0);
	if (!make_room(s, *count))
		return false;
	memcpy(s->values + 1, pass->values, (*count - 1) * sizeof(*s->values));
	memcpy(s->valid + 1, pass->valid, (*count - 1) * sizeof(*s->valid));
	return true;
}

static void set_own(struct steps *s, const struct step *step, const struct sampler_pass *pass)
{
	s->valid[0] = false;
	for (size_t i = 0; i < pass->own_count; i++)
		if (pass->own[i].key == step->key) {
			s->values[0] = pass->own[i].cpu_us;
			s->valid[0] = pass->own[i].valid;
		}
}

/* Series that the step does not know yet go into its summary and its timeline, in the same order.
 */
static void add_series(struct steps *s, struct step *step, const struct sampler_series *all)
{
	struct err err = { "" };

	for (size_t i = summary_series_count(step->summary) - 1; all && i < all->count; i++) {
		if (summary_add_series(step->summary, all->list[i]) < 0)
			return; /* the pass is longer than the summary then: it stops there */
		if (step->timeline && timeline_add_series(step->timeline, all->list[i], &err) < 0)
			drop_timeline(s, step, &err);
	}
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
		timeline_trouble(s, &err);
	}
}

/* Keeps the begin sample for the timeline. Without memory the timeline begins later. */
static void keep_first(struct steps *s, struct step *step, const struct sampler_pass *pass, size_t count)
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
		rc = timeline_add(step->timeline, row->t_ns, row->mono_ns, SAMPLE_BEGIN, row->values,
				  row->valid, row->count, &err);
	if (rc < 0)
		drop_timeline(s, step, &err);
}

static void take_sample(struct steps *s, struct step *step, const struct sampler_pass *pass,
			enum sample_kind kind, size_t count)
{
	struct record *r = step->record;

	set_own(s, step, pass);
	add_series(s, step, pass->series);
	if (count > summary_series_count(step->summary))
		count = summary_series_count(step->summary);
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

static void begin_sample(struct steps *s, struct step *step, const struct sampler_pass *pass,
			 size_t count)
{
	step->begun = true;
	step->blind = step->ending && pass->mono_ns > step->ended_mono_ns;
	if (!step->interval_ns && !step->ending) /* no grid: there is no later moment for it */
		settle(s, step, NULL);
	if (!step->blind)
		take_sample(s, step, pass, SAMPLE_BEGIN, count);
}

/* True when the step is done. */
static bool step_pass(struct steps *s, struct step *step, const struct sampler_pass *pass,
		      size_t count)
{
	bool grid = on_step_grid(step, pass);

	if (!step->begun) {
		if (pass->ticket >= step->begin_ticket)
			begin_sample(s, step, pass, count);
		return step->begun && step->ending && pass->ticket >= step->end_ticket;
	}
	if (step->ending && pass->ticket >= step->end_ticket) {
		if (!step->blind)
			take_sample(s, step, pass, SAMPLE_END, count);
		return true;
	}
	if (grid && !step->ending) {
		if (!step->settled)
			settle(s, step, pass->series);
		take_sample(s, step, pass, SAMPLE_GRID, count);
	}
	return false;
}

void steps_pass(struct steps *s, const struct sampler_pass *pass)
{
	struct step *step, *next;
	size_t count;

	if (!spread(s, pass, &count))
		return;
	for (step = s->first; step; step = next) {
		next = step->next;
		if (step_pass(s, step, pass, count))
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
		timeline_trouble(s, &err);
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
				set_partial(step, "reading %.200s has not come back", path);
			set_partial(step, "no sample could be taken at the end");
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
			set_end_time(step, NULL);
		set_partial(step, "%s", why);
		finish(s, step);
	}
}

/* --- what an earlier run left -------------------------------------------------------------------
 */

static int replay(struct timeline_view *v, struct summary *summary, struct err *err)
{
	struct record *r = v->record;
	struct timeline_sample sample;
	int64_t first_mono = 0, last_mono = 0;
	int rc;

	for (size_t i = 0; i < v->series_count; i++)
		if (summary_add_series(summary, &v->series[i]) < 0)
			return err_set(err, ENOMEM, "out of memory");
	r->samples = 0;
	while ((rc = timeline_next(v, &sample, err)) > 0) {
		summary_pass(summary, sample.mono_ns, sample.values, sample.valid, sample.count,
			     false);
		if (r->samples++ == 0) {
			first_mono = sample.mono_ns;
			r->begin_gap_ns = sample.t_ns - r->begin_ns;
		}
		last_mono = sample.mono_ns;
		r->end_ns = sample.t_ns;
	}
	r->elapsed_ns = r->samples ? last_mono - first_mono + r->begin_gap_ns : 0;
	if (r->elapsed_ns < 0)
		r->elapsed_ns = 0;
	/* A row that breaks off: what came before it stands. */
	return rc == -ENOMEM || (rc < 0 && r->samples == 0) ? rc : summary_fill(summary, r);
}

/* The record of an unfinished timeline out of what was sampled; 0 or a negative errno. */
static int rebuild(struct timeline_view *v, struct err *err)
{
	struct summary *summary = summary_new(v->record->interval_ns);
	struct record *r = v->record;
	char boot[37];
	int rc = summary ? replay(v, summary, err) : err_set(err, ENOMEM, "out of memory");

	summary_free(summary);
	if (rc < 0)
		return rc;
	free(r->partial);
	r->partial = strdup(io_boot_id(boot, NULL) == 0 && strcmp(boot, v->boot_id)
				    ? "the node was rebooted"
				    : "sfabricd was restarted");
	return r->partial ? 0 : err_set(err, ENOMEM, "out of memory");
}

/* A file that is no timeline is put aside, where trimming finds it. */
static void put_aside(const char *path)
{
	char *bad = io_format("%s.bad", path), *wal = io_format("%s-wal", path),
	     *shm = io_format("%s-shm", path);

	if (bad && wal && shm && (rename(path, bad) == 0 || errno == ENOENT)) {
		unlink(wal);
		unlink(shm);
	}
	free(bad);
	free(wal);
	free(shm);
}

/* A sealed one has the step's whole record, which may have been sent or not: again does no harm. */
static void recover_file(struct steps *s, const char *name)
{
	char *path = io_format("%s/%s", s->with.timelines, name);
	struct err err = { "" };
	struct timeline_view *v = path ? timeline_open(path, &err) : NULL;
	struct record *r = NULL;
	int rc = v ? 0 : -errno;

	if (v && !v->final)
		rc = rebuild(v, &err);
	if (rc == 0) {
		r = v->record;
		v->record = NULL;
	}
	if (r && !v->final)
		agent_say(s->with.log, LOG_NOTICE, "%s: its step was not finished: partial record",
			  name);
	timeline_view_free(v); /* before the file is closed for good: SQLite wants it alone */
	if (r) {
		if (send_record(s, r) && timeline_close_file(path, r, &err) < 0)
			timeline_trouble(s, &err);
	} else if (path && (rc == -EPROTO || (access(path, F_OK) < 0 && errno == ENOENT))) {
		agent_say(s->with.log, LOG_WARNING, "%s; put aside", err.text);
		put_aside(path);
	} else {
		agent_say(s->with.log, LOG_WARNING, "%s: left for the next start: %s", name,
			  path ? err.text : "out of memory");
	}
	record_free(r);
	free(path);
}

/* One that was not finished has its WAL beside it, so that the others need not be opened. */
void steps_recover(struct steps *s)
{
	DIR *dir = opendir(s->with.timelines);
	struct dirent *entry;
	char **names = NULL;
	size_t count = 0;

	while (dir && count < TIMELINES_MAX && (entry = readdir(dir))) {
		size_t len = strlen(entry->d_name);
		char **more;

		if (len < 4 || strcmp(entry->d_name + len - 4, "-wal") != 0)
			continue;
		more = reallocarray(names, count + 1, sizeof(*names));
		if (!more)
			break;
		names = more;
		names[count] = strndup(entry->d_name, len - 4);
		if (names[count])
			count++;
	}
	if (dir)
		closedir(dir);
	for (size_t i = 0; i < count; i++) {
		recover_file(s, names[i]);
		free(names[i]);
	}
	free(names);
}
