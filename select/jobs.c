/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jobs.c - see jobs.h.
 *
 * Lines that tell of no job that ran (no run time, no nodes, steps) are left out, as logs are full
 * of them; a line that can't be read at all is an error, as it means that the format is another
 * one.
 */
#include "jobs.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define JOBS_MAX 10000000
#define FIELDS 64
#define NODES_MAX (1u << 24)

void jobs_free(struct jobs *j)
{
	if (!j)
		return;
	free(j->job);
	free(j);
}

static int add_job(struct jobs *j, const struct job *job)
{
	if (job->run_s <= 0 || job->nodes == 0)
		return 0;
	if (j->count == j->room) {
		size_t room = j->room ? 2 * j->room : 1024;
		struct job *more = room > JOBS_MAX ? NULL : realloc(j->job, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		j->job = more;
		j->room = room;
	}
	j->job[j->count] = *job;
	if (job->limit_s < job->run_s)
		j->job[j->count].limit_s = job->run_s;
	j->count++;
	return 0;
}

static int by_submit(const void *a, const void *b)
{
	const struct job *x = a, *y = b;

	return x->submit_s < y->submit_s ? -1 : x->submit_s > y->submit_s;
}

/* Cuts a line in place at its separators (blank: any number of them); how many fields. */
static size_t cut(char *line, char separator, char *field[FIELDS])
{
	size_t count = 0;

	while (line && count < FIELDS) {
		if (separator == ' ')
			line += strspn(line, " \t\r");
		if (separator == ' ' && *line == '\0')
			break;
		field[count++] = line;
		line += strcspn(line, separator == ' ' ? " \t\r" : "|\r");
		line = *line ? (*line = '\0', line + 1) : NULL;
	}
	return count;
}

static bool number(const char *text, double *value)
{
	char *end;

	*value = strtod(text, &end);
	return end != text && *end == '\0' && isfinite(*value);
}

typedef int line_reader(struct jobs *j, char *line, void *data);

/* Gives each line, without its end and in a copy, to read; an error names source and line. */
static struct jobs *read_lines(const char *text, size_t len, line_reader *read, void *data,
			       const char *source, struct err *err)
{
	struct jobs *j = calloc(1, sizeof(*j));
	size_t at = 1;
	int rc = j ? 0 : -ENOMEM;

	for (const char *p = text; rc == 0 && p < text + len; at++) {
		const char *end = memchr(p, '\n', (size_t)(text + len - p));
		char *line = strndup(p, (size_t)((end ? end : text + len) - p));

		rc = line ? read(j, line, data) : -ENOMEM;
		free(line);
		p = end ? end + 1 : text + len;
	}
	if (rc == 0 && j->count == 0)
		rc = err_set(err, ENOENT, "%s: no job in it ran", source);
	else if (rc == -ENOMEM)
		err_set(err, ENOMEM, "%s: too many jobs for the memory", source);
	else if (rc < 0)
		err_set(err, EPROTO, "%s:%zu: not a line of this format", source, at - 1);
	if (rc == 0) {
		qsort(j->job, j->count, sizeof(*j->job), by_submit);
		return j;
	}
	jobs_free(j);
	return NULL;
}

static int read_swf(struct jobs *j, char *line, void *data)
{
	const uint32_t *per_node = data;
	char *field[FIELDS];
	double value[10], cpus;
	struct job job = { 0 };
	size_t count;

	if (line[strspn(line, " \t\r")] == ';')
		return 0;
	count = cut(line, ' ', field);
	if (count == 0)
		return 0;
	if (count < 9)
		return -EPROTO;
	for (size_t i = 0; i < 9; i++)
		if (!number(field[i], &value[i]))
			return -EPROTO;
	cpus = value[4] > 0 ? value[4] : value[7];
	if (cpus <= 0 || cpus > NODES_MAX)
		return 0;
	job.submit_s = value[1];
	job.run_s = value[3];
	job.limit_s = value[8];
	job.nodes = (uint32_t)ceil(cpus / *per_node);
	return add_job(j, &job);
}

struct jobs *jobs_swf(const char *text, size_t len, uint32_t per_node, const char *source,
		      struct err *err)
{
	return read_lines(text, len, read_swf, &per_node, source, err);
}

enum { JOB_ID, SUBMIT, ELAPSED, NODES, LIMIT, PRIORITY, TRES, COLUMNS };

struct sacct {
	size_t column[COLUMNS]; /* where it is, FIELDS: nowhere */
	bool head;
	uint32_t per_node;
};

static int read_head(struct sacct *s, char **field, size_t count)
{
	static const char *const names[COLUMNS] = { "JobID",	"Submit",	"ElapsedRaw",
						    "NNodes",	"TimelimitRaw", "Priority",
						    "AllocTRES" };

	for (int c = 0; c < COLUMNS; c++) {
		s->column[c] = FIELDS;
		for (size_t i = 0; i < count; i++)
			if (strcmp(field[i], names[c]) == 0)
				s->column[c] = i;
		if (s->column[c] == FIELDS && c <= NODES)
			return -EPROTO;
	}
	s->head = true;
	return 0;
}

/* GPUs of a job in "billing=8,cpu=8,gres/gpu=2,node=1"; 0: none are told. */
static uint32_t gpus_of(const char *tres)
{
	static const char key[] = "gres/gpu=";
	const char *at = strstr(tres, key);
	unsigned long gpus = at ? strtoul(at + sizeof(key) - 1, NULL, 10) : 0;

	return gpus < NODES_MAX ? (uint32_t)gpus : 0;
}

static int read_sacct(struct jobs *j, char *line, void *data)
{
	struct sacct *s = data;
	char *field[FIELDS], *end;
	struct job job = { 0 };
	struct tm tm = { 0 };
	double nodes, minutes, priority;
	size_t count = cut(line, '|', field);

	if (!s->head)
		return read_head(s, field, count);
	for (int c = 0; c < COLUMNS; c++)
		if (s->column[c] != FIELDS && s->column[c] >= count)
			return count == 1 && field[0][0] == '\0' ? 0 : -EPROTO;
	if (strchr(field[s->column[JOB_ID]], '.'))
		return 0;
	end = strptime(field[s->column[SUBMIT]], "%Y-%m-%dT%H:%M:%S", &tm);
	if (!end || *end || !number(field[s->column[ELAPSED]], &job.run_s) ||
	    !number(field[s->column[NODES]], &nodes) || nodes < 0 || nodes > NODES_MAX)
		return -EPROTO;
	job.submit_s = (double)timegm(&tm);
	job.nodes = (uint32_t)nodes;
	if (s->column[LIMIT] != FIELDS && number(field[s->column[LIMIT]], &minutes))
		job.limit_s = 60 * minutes; /* "UNLIMITED" is none */
	if (s->column[PRIORITY] != FIELDS && number(field[s->column[PRIORITY]], &priority) &&
	    priority > 0 && priority < 1e18)
		job.priority = (uint64_t)priority;
	if (s->column[TRES] != FIELDS && job.nodes == 1)
		job.gpus = gpus_of(field[s->column[TRES]]);
	if (job.gpus >= s->per_node)
		job.gpus = 0;
	return add_job(j, &job);
}

struct jobs *jobs_sacct(const char *text, size_t len, uint32_t per_node, const char *source,
			struct err *err)
{
	struct sacct s = { .per_node = per_node };

	return read_lines(text, len, read_sacct, &s, source, err);
}

/* From 0 to below 1, and never 0. */
static double uniform(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return ((double)(*seed >> 33) + 0.5) / 2147483648.0;
}

static uint32_t draw_nodes(uint64_t *seed)
{
	static const struct {
		uint32_t nodes;
		double share;
	} sizes[] = { { 1, .46 },   { 2, .14 },	  { 4, .12 },	{ 8, .12 },   { 16, .08 },
		      { 32, .045 }, { 64, .023 }, { 128, .01 }, { 256, .002 } };
	double at = uniform(seed);

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		at -= sizes[i].share;
		if (at < 0)
			return sizes[i].nodes;
	}
	return 1;
}

struct jobs *jobs_make(size_t count, double share, uint32_t per_node, uint64_t seed,
		       struct err *err)
{
	struct jobs *j = calloc(1, sizeof(*j));
	double at = 0;
	int rc = j ? 0 : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < count; i++) {
		double normal = sqrt(-2 * log(uniform(&seed))) * cos(2 * M_PI * uniform(&seed));
		struct job job = { .nodes = draw_nodes(&seed) };

		at += -log(uniform(&seed));
		job.submit_s = at;
		job.run_s = 2400 * exp(1.6 * normal);
		job.run_s = job.run_s < 10 ? 10 : job.run_s > 604800 ? 604800 : job.run_s;
		job.limit_s = job.run_s * (1 + 3 * uniform(&seed));
		if (job.nodes == 1 && uniform(&seed) < share)
			job.gpus = 1 + (uint32_t)(uniform(&seed) * (per_node - 1));
		rc = add_job(j, &job);
	}
	if (rc == 0)
		return j;
	jobs_free(j);
	err_set(err, ENOMEM, "out of memory");
	return NULL;
}
