/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fields.c - see fields.h.
 *
 * Each round goes through the open jobs: those whose look is due are asked for in one call, then
 * each job gets at most one write. Slurm may be down and each call may take its whole deadline, so
 * that a round stops at the first call that had no answer. AdminComment is read, merged and written
 * by the helper in one go; what was written is read back there, and once more a minute later,
 * because slurmdbd's queue may still hold an older message.
 */
#include "fields.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "io.h"
#include "jobfield.h"
#include "slurm_call.h"

#define NS_PER_S INT64_C(1000000000)
#define COALESCE_NS 100000000
#define WHOLE_TABLE_NS (10 * NS_PER_S)
#define CLOCKS_APART_S 60 /* those of hosts of one cluster, at most: munge would not work */
#define FORGET_EVERY_NS (60 * NS_PER_S)

int64_t fields_backoff_ns(int64_t tries)
{
	int64_t s = tries > 7 ? 300 : INT64_C(1) << (tries < 1 ? 1 : tries);

	return (s > 300 ? 300 : s) * NS_PER_S;
}

/* ---- the rule ---- */

static int64_t sooner(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t next_look(const struct fields_view *v)
{
	int64_t eager_until = v->batch_ns ? v->batch_ns + FIELDS_EAGER_FOR_S * NS_PER_S : 0;
	int64_t every = v->look_ns < eager_until ? FIELDS_EAGER_S : FIELDS_WATCH_S;

	if (v->batch_ns > v->look_ns)
		return later(v->next_ns, v->batch_ns + NS_PER_S / 2); /* its end follows at once */
	return later(v->next_ns, v->look_ns + every * NS_PER_S);
}

/* When the tag of a running job is to be (re)written; INT64_MAX: not at all. */
static int64_t next_tag(const struct fields_view *v)
{
	if (!v->running || v->field == FIELD_FOREIGN)
		return INT64_MAX;
	return later(v->next_ns,
		     v->field == FIELD_NONE ? 0 : v->field_ns + FIELDS_TAG_S * NS_PER_S);
}

/* The same for the record of an ended job. */
static int64_t next_record(const struct fields_view *v, bool final)
{
	if (final && v->field != FIELD_FINAL)
		return v->next_ns;
	if (final)
		return v->news ? later(v->next_ns, v->field_ns + FIELDS_REWRITE_S * NS_PER_S)
			       : INT64_MAX;
	if (v->field == FIELD_PARTIAL)
		return INT64_MAX;
	return later(v->next_ns, v->end_ns + FIELDS_PARTIAL_AFTER_S * NS_PER_S);
}

static enum fields_action at(int64_t when, enum fields_action action, const struct fields_view *v,
			     int64_t *due_ns)
{
	*due_ns = when;
	return when <= v->now_ns ? action : FIELDS_NOTHING;
}

static enum fields_action decide_ended(const struct fields_view *v, int64_t *due_ns)
{
	int64_t final_ns = v->end_ns + STORY_FINAL_AFTER_S * NS_PER_S;
	bool final = v->complete || v->now_ns >= final_ns;
	int64_t record_ns = next_record(v, final);

	if (v->field == FIELD_FOREIGN || v->field == FIELD_SUPERSEDED)
		return at(v->now_ns, FIELDS_CLOSE, v, due_ns);
	if (record_ns != INT64_MAX)
		return at(record_ns, FIELDS_RECORD, v, due_ns);
	if (!final)
		return at(final_ns, FIELDS_RECORD, v, due_ns);
	if (!v->verified)
		return at(later(v->next_ns, v->field_ns + FIELDS_VERIFY_S * NS_PER_S),
			  FIELDS_RECORD, v, due_ns);
	return at(v->now_ns, FIELDS_CLOSE, v, due_ns);
}

/*
 * Nothing is written. Only what came since Slurm was asked may be of a run that begins on this
 * node, which is worth another question.
 */
static enum fields_action decide_elsewhere(const struct fields_view *v, int64_t *due_ns)
{
	if (v->facts && !v->ended && v->last_ns > v->look_ns)
		return at(next_look(v), FIELDS_LOOK, v, due_ns);
	return at(v->now_ns, FIELDS_CLOSE, v, due_ns);
}

/* After the clock was set back what has been would be ahead, and be waited for. */
static struct fields_view nothing_ahead(const struct fields_view *given)
{
	struct fields_view v = *given;
	int64_t *been[] = {
		&v.first_ns, &v.last_ns, &v.batch_ns, &v.end_ns, &v.look_ns, &v.field_ns
	};

	for (size_t i = 0; i < sizeof(been) / sizeof(been[0]); i++)
		*been[i] = sooner(*been[i], v.now_ns);
	v.next_ns = sooner(v.next_ns, v.now_ns + fields_backoff_ns(INT64_MAX));
	return v;
}

static enum fields_action decide(const struct fields_view *v, int64_t *due_ns)
{
	int64_t look_ns, tag_ns;

	if (v->tries >= FIELDS_TRIES ||
	    (!v->facts && v->now_ns >= v->first_ns + FIELDS_FORGET_S * NS_PER_S))
		return at(v->now_ns, FIELDS_CLOSE, v, due_ns);
	if (v->elsewhere)
		return decide_elsewhere(v, due_ns);
	if (!v->facts)
		return at(v->next_ns, FIELDS_LOOK, v, due_ns);
	if (v->ended)
		return decide_ended(v, due_ns);
	look_ns = next_look(v);
	tag_ns = next_tag(v);
	if (tag_ns <= v->now_ns && look_ns > v->now_ns)
		return at(tag_ns, FIELDS_TAG, v, due_ns);
	if (look_ns <= v->now_ns)
		return at(look_ns, FIELDS_LOOK, v, due_ns);
	return at(sooner(look_ns, tag_ns), FIELDS_NOTHING, v, due_ns);
}

enum fields_action fields_decide(const struct fields_view *given, int64_t *due_ns)
{
	struct fields_view v = nothing_ahead(given);

	return decide(&v, due_ns);
}

/* ---- one job ---- */

struct writer {
	struct service *service;
	int64_t last_update; /* of slurmctld's job table, when the last look was at the same jobs */
	uint32_t *last_jobs;
	size_t last_count;
	int64_t whole_ns;  /* the whole table was asked for; CLOCK_MONOTONIC */
	int64_t forget_ns; /* old jobs are forgotten then; CLOCK_MONOTONIC */
	bool silent;	   /* Slurm has not answered: the round is over */
};

struct work { /* one open job in this round */
	struct store_job job;
	enum fields_action action;
};

static void fail(struct writer *w, struct store_job *job, const char *what, const char *why)
{
	job->tries++;
	job->next_ns = io_now_ns() + fields_backoff_ns(job->tries);
	/* the first failure and then ever rarer ones: tries at powers of two */
	if ((job->tries & (job->tries - 1)) == 0)
		service_log(w->service, LOG_WARNING, "job %u: %s: %s (attempt %lld)", job->job,
			    what, why, (long long)job->tries);
}

/*
 * Calls the helper. NULL when there was no usable answer: the job is put off, and the round ends
 * when it was the helper itself that failed.
 */
static json_object *call(struct writer *w, struct store_job *job, json_object *request,
			 const char *what)
{
	struct service *s = w->service;
	struct err err = { "" };
	json_object *reply = NULL, *why;
	int rc = request ? slurm_call(s->conf, s->helper, request, SLURM_CALL_TIMEOUT_MS, &reply,
				      &err)
			 : err_set(&err, ENOMEM, "out of memory");

	json_object_put(request);
	if (rc < 0) {
		w->silent = true;
		if (job)
			fail(w, job, what, err.text);
		else
			service_log(s, LOG_WARNING, "%s: %s", what, err.text);
		return NULL;
	}
	if (json_object_object_get_ex(reply, "error", &why) && !json_has(reply, "gone")) {
		w->silent = json_has(reply, "silent");
		if (job)
			fail(w, job, what, json_object_get_string(why));
		else
			service_log(s, LOG_WARNING, "%s: %s", what, json_object_get_string(why));
		json_object_put(reply);
		return NULL;
	}
	return reply;
}

/* A request about one job, with all that the helper may need to find it. */
static json_object *request_for(const struct service *s, const char *op, uint32_t job,
				const struct job_facts *f)
{
	json_object *request = json_object_new_object();

	int rc = request ? json_put_string(request, "op", op) : -ENOMEM;

	rc = rc ? rc : json_put_int(request, "job", job);
	rc = rc ? rc : json_put_string(request, "cluster", s->conf->cluster);
	if (rc == 0 && f && f->array) {
		rc = json_put_int(request, "array_job", f->array_job);
		rc = rc ? rc : json_put_int(request, "array_task", f->array_task);
	}
	if (rc == 0)
		return request;
	json_object_put(request);
	return NULL;
}

/* What is known of the job; NULL, and *rc -ENOMEM when there is only no memory for it. */
static struct job_facts *facts_of(const struct store_job *job, int *rc)
{
	json_object *object =
		job->facts ? json_parse(job->facts, strlen(job->facts), "store", NULL) : NULL;
	struct job_facts *f = object ? job_facts_from_json(object, NULL) : NULL;

	*rc = job->facts && !f && errno == ENOMEM ? -ENOMEM : 0;
	json_object_put(object);
	return f;
}

static bool same_incarnation(const struct job_facts *old, const struct job_facts *fresh)
{
	return !old ||
	       (old->submit_s == fresh->submit_s &&
		(old->restarts < 0 || fresh->restarts < 0 || old->restarts == fresh->restarts));
}

/*
 * What is followed here began before the run that Slurm speaks of was submitted: a message that
 * came late, of an earlier run or of another job that had the number.
 */
static bool began_before(const struct store_job *job, const struct job_facts *fresh)
{
	return !job->facts && job->began_ns / NS_PER_S + STORE_CLOCK_SLACK_S < fresh->submit_s;
}

/*
 * The job was requeued (or its id is used again) at the time of the new submission: what is
 * followed here is over, and slurmdbd can't store more for it.
 */
static void supersede(struct writer *w, struct store_job *job, int64_t end_s)
{
	struct err err = { "" };

	job->field = FIELD_SUPERSEDED;
	job->seen_arrivals = job->arrivals;
	if (store_supersede(w->service->store, job->key, end_s, &err) < 0)
		fail(w, job, "storing", err.text);
	else
		service_log(w->service, LOG_INFO,
			    "job %u: Slurm knows a later run of that number: the record of "
			    "this one stays here only",
			    job->job);
}

/*
 * The database does not know GPU indexes: facts that slurmctld gave keep them. NULL without memory.
 */
static json_object *merge_facts(const struct store_job *job, json_object *fresh)
{
	json_object *old =
		job->facts ? json_parse(job->facts, strlen(job->facts), "store", NULL) : NULL;
	int rc = 0;

	if (!old)
		return job->facts && errno == ENOMEM ? NULL : json_object_get(fresh);
	json_object_object_foreach(fresh, key, value) rc =
		rc ? rc : json_put_value(old, key, json_object_get(value));
	if (rc == 0)
		return old;
	json_object_put(old);
	return NULL;
}

/* Facts that are of the run that is followed here go into the store. */
static void store_facts(struct writer *w, struct store_job *job, const struct job_facts *f,
			json_object *object)
{
	struct store_identity id = { f->job,	   f->submit_s,
				     f->start_s,   f->ended ? f->end_s : 0,
				     f->restarts,  f->array,
				     f->array_job, f->array_task };
	json_object *merged = merge_facts(job, object);
	char *text = merged ? json_line(merged) : NULL;
	struct err err = { "out of memory" };
	int64_t key = job->key;

	job->tries = 0;
	job->next_ns = 0;
	if (!text || store_set_facts(w->service->store, &key, &id, text, &err) < 0)
		fail(w, job, "storing", err.text);
	else if (key != job->key)
		service_log(w->service, LOG_DEBUG, "job %u: two rows were the same run", job->job);
	free(text);
	json_object_put(merged);
}

static void take_facts(struct writer *w, struct store_job *job, json_object *object)
{
	struct job_facts *f = job_facts_from_json(object, NULL), *old;
	int rc;

	if (!f) {
		fail(w, job, "Slurm's answer", "it is not understood");
		return;
	}
	old = facts_of(job, &rc);
	if (rc < 0)
		fail(w, job, "Slurm's answer", "out of memory");
	else if (!same_incarnation(old, f) || began_before(job, f))
		supersede(w, job, f->submit_s);
	else
		store_facts(w, job, f, object);
	job_facts_free(old);
	job_facts_free(f);
}

/* slurmctld has forgotten the job: the database may know it. */
static void look_into_database(struct writer *w, struct store_job *job)
{
	int rc;
	struct job_facts *f = facts_of(job, &rc);
	json_object *request = rc < 0 ? NULL : request_for(w->service, "db", job->job, f);
	json_object *reply = call(w, job, request, "asking slurmdbd"), *jobs;

	job_facts_free(f);
	if (!reply)
		return;
	if (json_object_object_get_ex(reply, "jobs", &jobs) &&
	    json_object_is_type(jobs, json_type_array) && json_object_array_length(jobs) > 0)
		take_facts(w, job, json_object_array_get_idx(jobs, 0));
	else
		fail(w, job, "asking Slurm", "neither slurmctld nor slurmdbd knows the job");
	json_object_put(reply);
}

/* ---- looking ---- */

static json_object *find_in(json_object *jobs, uint32_t job)
{
	for (size_t i = 0; i < json_object_array_length(jobs); i++) {
		json_object *object = json_object_array_get_idx(jobs, i), *id;

		if (json_object_is_type(object, json_type_object) &&
		    json_object_object_get_ex(object, "job", &id) &&
		    json_object_get_int64(id) == job)
			return object;
	}
	return NULL;
}

static json_object *look_request(const struct writer *w, struct work *const *due, size_t count)
{
	json_object *request = json_object_new_object(), *ids = json_object_new_array();
	/* slurmctld sees no change as long as its clock, set back, is behind what it said before */
	bool same = count > SLURM_CALL_FEW_JOBS && count == w->last_count &&
		    w->last_update < io_now_ns() / NS_PER_S + CLOCKS_APART_S;
	int rc = json_put_value(request, "ids", ids);

	for (size_t i = 0; rc == 0 && i < count; i++) {
		rc = json_append(ids, json_object_new_int64(due[i]->job.job));
		same = same && w->last_jobs[i] == due[i]->job.job && due[i]->job.facts;
	}
	rc = rc ? rc : json_put_string(request, "op", "jobs");
	if (rc == 0 && same)
		rc = json_put_int(request, "since", w->last_update);
	if (rc == 0)
		return request;
	json_object_put(request);
	return NULL;
}

static void remember_look(struct writer *w, struct work *const *due, size_t count,
			  json_object *reply)
{
	uint32_t *jobs = reallocarray(w->last_jobs, count + 1, sizeof(*jobs));
	json_object *last;

	w->last_count = 0;
	if (!jobs)
		return;
	w->last_jobs = jobs;
	if (!json_object_object_get_ex(reply, "last_update", &last))
		return;
	for (size_t i = 0; i < count; i++)
		jobs[i] = due[i]->job.job;
	w->last_count = count;
	w->last_update = json_object_get_int64(last);
}

static void look(struct writer *w, struct work *const *due, size_t count)
{
	json_object *reply, *jobs = NULL;
	int64_t now = io_now_ns();

	if (count == 1)
		reply = call(w, &due[0]->job, request_for(w->service, "job", due[0]->job.job, NULL),
			     "asking slurmctld");
	else
		reply = call(w, NULL, look_request(w, due, count), "asking slurmctld");
	if (reply && count > 1)
		remember_look(w, due, count, reply);
	if (reply && !json_has(reply, "unchanged")) {
		json_object_object_get_ex(reply, "jobs", &jobs);
		if (!json_object_is_type(jobs, json_type_array))
			jobs = NULL;
	}
	for (size_t i = 0; i < count; i++) {
		struct store_job *job = &due[i]->job;
		json_object *object = jobs ? find_in(jobs, job->job) : NULL;

		job->look_ns = now;
		if (object)
			take_facts(w, job, object);
		else if (reply && !json_has(reply, "unchanged") && !w->silent && !w->service->stop)
			look_into_database(w, job);
		else if (!reply && count > 1)
			fail(w, job, "asking slurmctld", "no answer");
		store_save_job(w->service->store, job, NULL);
	}
	json_object_put(reply);
}

/* ---- writing ---- */

static json_object *write_request(const char *op, const struct service_story *ss,
				  json_object *field, size_t max)
{
	json_object *request = request_for(ss->service, op, ss->story.job, ss->facts);

	if (request && json_put_int(request, "submit", ss->facts->submit_s) == 0 &&
	    json_put_u64(request, "max", max) == 0 &&
	    json_put_value(request, "fabric", json_object_get(field)) == 0)
		return request;
	json_object_put(request);
	return NULL;
}

static void note_foreign(struct writer *w, struct store_job *job)
{
	job->field = FIELD_FOREIGN;
	service_log(w->service, LOG_WARNING,
		    "job %u: AdminComment holds something that is no JSON object; "
		    "it is left alone",
		    job->job);
}

static void note_poorer(struct writer *w, struct store_job *job)
{
	job->field = FIELD_SUPERSEDED;
	service_log(
		w->service, LOG_WARNING,
		"job %u: AdminComment stands on more records than are known here; it is left as "
		"it is",
		job->job);
}

/* What the helper said about a write. True: it is in. */
static bool take_result(struct writer *w, struct store_job *job, json_object *reply,
			const char *what, bool *same)
{
	json_object *value;
	const char *word;

	if (json_object_object_get_ex(reply, "wait", &value)) {
		fail(w, job, what, json_object_get_string(value));
		return false;
	}
	word = json_object_object_get_ex(reply, "result", &value) ? json_object_get_string(value)
								  : "";
	*same = !strcmp(word, "same");
	if (*same || !strcmp(word, "written"))
		return true;
	if (!strcmp(word, "foreign"))
		note_foreign(w, job);
	else if (!strcmp(word, "poorer"))
		note_poorer(w, job);
	else if (!strcmp(word, "superseded"))
		job->field = FIELD_SUPERSEDED;
	else if (!strcmp(word, "ended"))
		job->look_ns = 0; /* the next look will see it */
	else
		fail(w, job, what, "the helper's answer is not understood");
	return false;
}

static void note_written(struct store_job *job, enum field_state state, char *text, bool same)
{
	bool again = job->field == state && job->field_text && !strcmp(job->field_text, text);

	job->field_verified = again && same; /* read back some time later, and still there */
	job->field = state;
	job->field_ns = io_now_ns();
	job->tries = 0;
	job->next_ns = 0;
	free(job->field_text);
	job->field_text = text;
}

static void write_tag(struct writer *w, struct store_job *job, const struct service_story *ss)
{
	json_object *field = story_field(&ss->story, JOBFIELD_RUNNING_MAX), *reply;
	char *text = field ? json_line(field) : NULL;
	bool same = false;

	if (text && job->field_text && !strcmp(text, job->field_text)) {
		job->field_ns = io_now_ns(); /* nothing new to say */
		free(text);
	} else if (text) {
		reply = call(w, job, write_request("tag", ss, field, JOBFIELD_RUNNING_MAX),
			     "tagging");
		if (reply && take_result(w, job, reply, "tagging", &same))
			note_written(job, FIELD_RUNNING, text, same);
		else
			free(text);
		json_object_put(reply);
	}
	json_object_put(field);
}

static void write_record(struct writer *w, struct store_job *job, const struct service_story *ss)
{
	enum field_state state =
		story_state(&ss->story) == STORY_FINAL ? FIELD_FINAL : FIELD_PARTIAL;
	json_object *field = story_field(&ss->story, JOBFIELD_FINAL_MAX), *reply;
	char *text = field ? json_line(field) : NULL;
	bool same = false;

	reply = text ? call(w, job, write_request("record", ss, field, JOBFIELD_FINAL_MAX),
			    "writing the record")
		     : NULL;
	if (reply && take_result(w, job, reply, "writing the record", &same)) {
		job->seen_arrivals = job->arrivals;
		if (job->field != state)
			service_log(w->service, LOG_INFO, "job %u: record written, %s", job->job,
				    story_state_name(story_state(&ss->story)));
		note_written(job, state, text, same);
	} else {
		free(text);
	}
	json_object_put(reply);
	json_object_put(field);
}

/* In a service of one node: nothing is written before Slurm has said that it is the first host. */
static bool is_elsewhere(const struct writer *w, const struct job_facts *f)
{
	const char *node = w->service->with.node;

	if (!node || !f)
		return false;
	return f->host_count ? strcmp(f->hosts[0], node) != 0 : f->running || f->ended;
}

/* complete: only an ended job's matters. */
static struct fields_view view_of(const struct writer *w, const struct store_job *job,
				  const struct job_facts *f, bool complete)
{
	return (struct fields_view){
		.now_ns = io_now_ns(),
		.first_ns = job->first_ns,
		.last_ns = job->last_ns,
		.elsewhere = is_elsewhere(w, f),
		.batch_ns = job->batch_ns,
		.facts = f,
		.running = f && f->running,
		.ended = f && f->ended,
		.end_ns = f && f->end_s ? f->end_s * NS_PER_S : job->last_ns,
		.complete = complete,
		.look_ns = job->look_ns,
		.field = job->field,
		.field_ns = job->field_ns,
		.verified = job->field_verified,
		.news = job->arrivals != job->seen_arrivals,
		.next_ns = job->next_ns,
		.tries = job->tries,
	};
}

static enum fields_action write_field(struct writer *w, struct store_job *job,
				      enum fields_action action, int64_t *due)
{
	struct service_story ss;
	struct err err = { "" };

	if (service_story_load(w->service, job, action == FIELDS_RECORD, &ss, &err) < 0) {
		service_log(w->service, LOG_ERR, "job %u: %s", job->job, err.text);
		*due = io_now_ns() + FIELDS_WATCH_S * NS_PER_S;
		return FIELDS_NOTHING;
	}
	if (action == FIELDS_TAG)
		write_tag(w, job, &ss);
	else
		write_record(w, job, &ss);
	service_story_clear(&ss);
	return action;
}

/* A story is read only when it is to be written: whether it is complete is a question of counts. */
static enum fields_action decide_job(struct writer *w, const struct store_job *job, int64_t *due)
{
	int rc;
	struct job_facts *f = facts_of(job, &rc);
	struct fields_view v;
	struct err err = { "out of memory" };
	bool complete = false;

	if (rc < 0) {
		service_log(w->service, LOG_ERR, "job %u: %s", job->job, err.text);
		*due = io_now_ns() + FIELDS_WATCH_S * NS_PER_S;
		return FIELDS_NOTHING;
	}
	if (f && f->ended && store_complete(w->service->store, job->key, &complete, &err) < 0)
		service_log(w->service, LOG_ERR, "job %u: %s", job->job, err.text);
	if (f && f->host_count > 1 && w->service->with.node)
		complete = false; /* as story_complete() says */
	v = view_of(w, job, f, complete);
	job_facts_free(f);
	return fields_decide(&v, due);
}

static void close_job(struct writer *w, struct store_job *job)
{
	if (job->tries >= FIELDS_TRIES)
		service_log(w->service, LOG_WARNING,
			    "job %u: given up after %lld attempts; a new message starts again",
			    job->job, (long long)job->tries);
	job->tries = 0;
	job->next_ns = 0;
	job->seen_arrivals = job->arrivals;
}

/* Decides for one job and does what is due, but looks. Returns when it is to be served again. */
static int64_t serve(struct writer *w, int64_t key)
{
	struct store_job job;
	struct err err = { "" };
	enum fields_action action;
	int64_t due = INT64_MAX, now = io_now_ns();

	if (store_get_job(w->service->store, key, &job, &err) < 0)
		return due;
	action = decide_job(w, &job, &due);
	if (action == FIELDS_TAG || action == FIELDS_RECORD)
		action = write_field(w, &job, action, &due);
	if (action == FIELDS_CLOSE)
		close_job(w, &job);
	if (action == FIELDS_TAG || action == FIELDS_RECORD || action == FIELDS_CLOSE) {
		if (store_save_job(w->service->store, &job, &err) < 0)
			service_log(w->service, LOG_ERR, "%s", err.text);
		due = now; /* see at once what is next */
	}
	if (action == FIELDS_CLOSE) {
		store_close_job(w->service->store, key, &err);
		due = INT64_MAX;
	}
	store_job_clear(&job);
	return action == FIELDS_LOOK ? now : due;
}

/* ---- rounds ---- */

static bool load_work(struct writer *w, int64_t key, struct work *work)
{
	struct fields_view v;
	struct job_facts *f;
	int64_t due;
	int rc;

	if (store_get_job(w->service->store, key, &work->job, NULL) < 0)
		return false;
	f = facts_of(&work->job, &rc);
	if (rc < 0)
		return false;
	v = view_of(w, &work->job, f, false);
	if (f && !f->ended)
		v.field = FIELD_FOREIGN; /* looks alone, no tag */
	work->action = f && f->ended ? FIELDS_NOTHING : fields_decide(&v, &due);
	job_facts_free(f);
	return true;
}

/* Asks Slurm about all jobs whose look is due, in one call. */
static void look_at_due(struct writer *w, const int64_t *keys, size_t count)
{
	struct work *all = calloc(count + 1, sizeof(*all));
	struct work **due = calloc(count + 1, sizeof(*due));
	size_t n = 0;

	for (size_t i = 0; all && due && i < count; i++)
		if (load_work(w, keys[i], &all[i]) && all[i].action == FIELDS_LOOK)
			due[n++] = &all[i];
	/* a few are asked for one by one; the whole table costs slurmctld too much to be had often,
	 * and by each node at all */
	if (n > SLURM_CALL_FEW_JOBS &&
	    (w->service->with.node || io_mono_ns() < w->whole_ns + WHOLE_TABLE_NS))
		n = SLURM_CALL_FEW_JOBS;
	else if (n > SLURM_CALL_FEW_JOBS)
		w->whole_ns = io_mono_ns();
	if (n)
		look(w, due, n);
	for (size_t i = 0; all && i < count; i++)
		store_job_clear(&all[i].job);
	free(due);
	free(all);
}

/* One round over the open jobs. Returns when the next one is due (ns since the epoch). */
static int64_t do_round(struct writer *w)
{
	struct service *s = w->service;
	struct err err = { "" };
	int64_t next = io_now_ns() + FIELDS_WATCH_S * NS_PER_S;
	int64_t *keys;
	size_t count;

	if (service_off())
		return next;
	w->silent = false;
	if (store_open_jobs(s->store, &keys, &count, &err) < 0) {
		service_log(s, LOG_ERR, "%s", err.text);
		return next;
	}
	look_at_due(w, keys, count);
	for (size_t i = 0; i < count && !w->silent && !s->stop; i++)
		next = sooner(next, serve(w, keys[i]));
	if (w->silent)
		next = io_now_ns() + 2 * NS_PER_S;
	free(keys);
	return next;
}

/* Old jobs go, a portion a second at most, so that those who store wait little. */
static void forget(struct writer *w)
{
	int64_t now = io_mono_ns();
	struct err err = { "" };
	bool more = false;

	if (now < w->forget_ns || service_off())
		return;
	if (store_forget(w->service->store, io_now_ns(), w->service->with.store_max, &more, &err) <
	    0)
		service_log(w->service, LOG_ERR, "%s", err.text);
	w->forget_ns = now + (more ? NS_PER_S : FORGET_EVERY_NS);
}

void *fields_run(void *service)
{
	struct writer w = { .service = service };
	int64_t next, wait_ns;

	do {
		nanosleep(&(struct timespec){ .tv_nsec = COALESCE_NS },
			  NULL); /* messages come in crowds */
		next = do_round(&w);
		forget(&w);
		next = sooner(next, io_now_ns() + later(w.forget_ns - io_mono_ns(), NS_PER_S));
		wait_ns = later(next - io_now_ns(), NS_PER_S / 5);
	} while (service_wait(w.service, io_mono_ns() + wait_ns));
	free(w.last_jobs);
	return NULL;
}
