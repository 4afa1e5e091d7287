/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * recover.c - what a sfabricd that starts makes of what the one before it left.
 *
 * The counters went on while nobody looked, and the timeline tells where they were: a step that
 * still lives is taken over, with its samples and under its record's id, and followed as if nothing
 * had been but some missed samples. For one that is over, what was seen of it stands. Markers tell
 * of the steps (marker.h); a timeline without one, or of another boot, becomes a partial record.
 */
#include "steps_own.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "io.h"
#include "marker.h"

#define FILES_MAX 65536

/* When the first and the last sample were taken, CLOCK_MONOTONIC. */
struct span {
	int64_t first_ns, last_ns;
};

/* The samples into the summary, and what they say of themselves into r. */
static int replay(struct timeline_view *v, struct summary *summary, struct record *r,
		  struct span *span, struct err *err)
{
	struct timeline_sample sample;
	int rc;

	r->samples = 0;
	while ((rc = timeline_next(v, &sample, err)) > 0) {
		summary_pass(summary, sample.mono_ns, sample.values, sample.valid, sample.count,
			     false);
		if (r->samples++ == 0) {
			span->first_ns = sample.mono_ns;
			r->begin_gap_ns = sample.t_ns - r->begin_ns;
		}
		span->last_ns = sample.mono_ns;
		r->end_ns = sample.t_ns;
	}
	/* a row that breaks off: what came before it stands */
	return rc == -ENOMEM || (rc < 0 && r->samples == 0) ? rc : 0;
}

/* --- timelines that nobody goes on with --- */

/* The record of an unfinished timeline out of what was sampled; 0 or a negative errno. */
static int rebuild(struct timeline_view *v, struct err *err)
{
	struct summary *summary = summary_new(v->record->interval_ns);
	struct record *r = v->record;
	struct span span = { 0, 0 };
	char boot[37];
	int rc = summary ? 0 : err_set(err, ENOMEM, "out of memory");

	for (size_t i = 0; rc == 0 && i < v->series_count; i++)
		rc = summary_add_series(summary, &v->series[i]);
	rc = rc ? rc : replay(v, summary, r, &span, err);
	if (rc == 0) {
		r->elapsed_ns = span.last_ns - span.first_ns + r->begin_gap_ns;
		if (r->elapsed_ns < 0)
			r->elapsed_ns = 0;
		rc = summary_fill(summary, r);
	}
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
		if (steps_send(s, r) && timeline_close_file(path, r, &err) < 0)
			steps_timeline_trouble(s, &err);
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

/* --- steps that go on --- */

/* The file's samples into the step, which goes on with it. */
static int load_samples(struct steps *s, struct step *step, const char *path, struct err *err)
{
	struct timeline_view *v = step->earlier;
	struct span span = { step->began_mono_ns, step->began_mono_ns };
	int rc = 0;

	for (size_t i = 1; rc == 0 && i < v->series_count; i++)
		rc = summary_add_series(step->summary, &v->series[i]);
	rc = rc ? rc : replay(v, step->summary, step->record, &span, err);
	timeline_view_close(v); /* SQLite wants the file alone */
	if (rc < 0)
		return rc;
	step->timeline = timeline_append(path, v->series_count, s->with.conf->spool_max / 4, err);
	if (!step->timeline)
		steps_timeline_trouble(s, err);
	step->settled = step->timeline || step->record->samples;
	step->begun = step->record->samples > 0;
	step->last_mono_ns = span.last_ns;
	if (step->begun && step->interval_ns)
		step->due_ns = span.last_ns + step->interval_ns;
	return 1;
}

/*
 * 1: the step can go on. 0: its record was made, or is made from its timeline alone. A negative
 * errno and err.
 */
static int load_step(struct steps *s, struct step *step, struct err *err)
{
	char *path = step_timeline_path(s, step->record);
	int rc = 1;

	if (!path)
		return err_set(err, ENOMEM, "out of memory");
	if (access(path, F_OK) == 0) {
		step->earlier = timeline_open(path, err);
		if (!step->earlier)
			rc = errno == ENOMEM ? -ENOMEM : 0;
		else if (step->earlier->final)
			rc = 0;
		else
			rc = load_samples(s, step, path, err);
		if (rc < 0 && rc != -ENOMEM)
			rc = 0;
	} else if (sender_holds(s->with.sender, step->record->id)) {
		rc = 0;
	}
	free(path);
	return rc;
}

/* When the process was started, nanoseconds since boot; proc(5). -1: unknown. */
static int64_t started_ns(pid_t pid)
{
	char *path = io_format("/proc/%d/stat", (int)pid), *text = NULL, *name;
	unsigned long long ticks;
	long hz = sysconf(_SC_CLK_TCK);
	size_t len;
	int64_t ns = -1;

	if (path && io_read(path, 4096, &text, &len, NULL) == 0 && (name = strrchr(text, ')')) &&
	    sscanf(name + 1,
		   " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d"
		   " %*d %*d %llu",
		   &ticks) == 1 &&
	    hz > 0)
		ns = (int64_t)(ticks * (1000000000 / (unsigned long)hz));
	free(text);
	free(path);
	return ns;
}

/* A pidfd of the slurmstepd; -1 when it is gone, and its number may be another's. */
static int find_stepd(const struct step *step, pid_t stepd)
{
	int fd = stepd > 0 ? (int)syscall(SYS_pidfd_open, stepd, 0) : -1;
	struct pollfd over = { .fd = fd, .events = POLLIN };
	struct timespec boot;
	int64_t began;

	if (fd < 0)
		return -1;
	clock_gettime(CLOCK_BOOTTIME, &boot); /* CLOCK_MONOTONIC, but for the time asleep */
	began = (int64_t)boot.tv_sec * 1000000000 + boot.tv_nsec - io_mono_ns() +
		step->began_mono_ns;
	if (poll(&over, 1, 0) == 0 && started_ns(stepd) >= 0 && started_ns(stepd) <= began)
		return fd;
	close(fd);
	return -1;
}

/* True when the marker is not needed any more. */
static bool take_over(struct steps *s, const struct marker *m,
		      void (*follow)(void *arg, struct step *step, pid_t stepd, int pidfd),
		      void *arg)
{
	struct err err = { "" };
	struct step *step = s->count < STEPS_MAX ? step_new(s, &m->begin, &err) : NULL;
	int rc = step ? 1 : -ENOMEM, pidfd;

	if (step) {
		memcpy(step->record->id, m->id, sizeof(m->id));
		rc = load_step(s, step, &err);
	}
	if (rc <= 0) {
		if (rc < 0)
			agent_say(s->with.log, LOG_WARNING, "job %u: not taken over: %s",
				  m->begin.job, err.text);
		step_free(step);
		return rc == 0;
	}
	pidfd = find_stepd(step, m->stepd);
	step->taken_over = step->marked = true;
	step->orphan = pidfd < 0;
	step_enter(s, step, pidfd < 0 ? 0 : m->stepd);
	sampler_adopt_all(s->with.sampler);
	if (m->ended)
		steps_end(s, step, &m->end);
	else
		follow(arg, step, m->stepd, pidfd);
	if (m->ended && pidfd >= 0)
		close(pidfd);
	return false;
}

/* --- both folders --- */

/*
 * The names in a folder that end with suffix, without it; NULL-terminated. What can't be had is
 * said: it is left for the next start.
 */
static char **names_in(const struct steps *s, const char *folder, const char *suffix)
{
	DIR *dir = opendir(folder);
	char **names = NULL, **more;
	struct dirent *entry;
	size_t count = 0, end = strlen(suffix);
	int code = dir || errno == ENOENT ? 0 : errno;

	while (dir && !code && count < FILES_MAX && (entry = readdir(dir))) {
		size_t len = strlen(entry->d_name);

		if (len <= end || strcmp(entry->d_name + len - end, suffix) != 0 ||
		    entry->d_name[0] == '.')
			continue;
		more = reallocarray(names, count + 2, sizeof(*names));
		if (more) {
			names = more;
			names[count] = strndup(entry->d_name, len - end);
			names[count + 1] = NULL;
		}
		if (more && names[count])
			count++;
		else
			code = ENOMEM;
	}
	if (dir)
		closedir(dir);
	if (code)
		agent_say(
			s->with.log, LOG_WARNING,
			"%s: can't be read: %s; an earlier run's steps are left for the next start",
			folder, strerror(code));
	return names;
}

static void free_names(char **names)
{
	for (size_t i = 0; names && names[i]; i++)
		free(names[i]);
	free(names);
}

static void recover_marker(struct steps *s, const char *name,
			   void (*follow)(void *arg, struct step *step, pid_t stepd, int pidfd),
			   void *arg)
{
	struct err err = { "" };
	struct marker m;
	char *path;
	int rc = marker_read(s->with.markers, name, &m, &err);

	if (rc == -ENOMEM || (rc == 0 && !take_over(s, &m, follow, arg)))
		return;
	if (rc < 0)
		agent_say(s->with.log, LOG_NOTICE, "%s; removed", err.text);
	path = io_format("%s/%s", s->with.markers, name);
	if (path)
		unlink(path);
	free(path);
}

static bool is_followed(const struct steps *s, const char *timeline)
{
	for (const struct step *step = s->first; step; step = step->next)
		if (strstr(timeline, step->record->id))
			return true;
	return false;
}

void steps_recover(struct steps *s,
		   void (*follow)(void *arg, struct step *step, pid_t stepd, int pidfd), void *arg)
{
	char **names = names_in(s, s->with.markers, "");

	for (size_t i = 0; names && names[i]; i++)
		recover_marker(s, names[i], follow, arg);
	free_names(names);
	/* one that was not finished has its WAL beside it, so that the others need not be opened */
	names = names_in(s, s->with.timelines, "-wal");
	for (size_t i = 0; names && names[i]; i++)
		if (!is_followed(s, names[i]))
			recover_file(s, names[i]);
	free_names(names);
}
