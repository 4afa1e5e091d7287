/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * source_processes.c - see source_processes.h.
 *
 * If the cgroup of slurmstepd names the job and the step, the kernel has the sum. Otherwise the
 * step's processes are the descendants of slurmstepd. Two sums of theirs are both at most the
 * truth, and the larger one is taken: own time of every process ever seen, by its last value
 * (misses what lived between two looks), and own time plus that of children waited for, of those
 * that live now and of slurmstepd (misses what nobody waited for). Parents are read before their
 * children: a child that ends in between is missed for once, never counted twice.
 *
 * Searching all of /proc is dear on a node with thousands of kernel threads, so only processes with
 * numbers given out since the last search are looked at (the last field of /proc/loadavg).
 */
#include "source_processes.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io.h"
#include "text.h"

#define PROCESSES_MAX 4096
#define BORN_MAX 65536
#define LOOKS 64 /* passes: there may be many a second while other steps begin and end */
#define CGROUP_TEXT 16384

struct process {
	pid_t pid;
	uint64_t start; /* in ticks since boot; 0: not read yet */
	uint64_t own;	/* ticks */
};

struct processes {
	uint32_t job, step;
	struct process *list; /* slurmstepd first, parents before children */
	size_t count, room;
	uint64_t ended; /* ticks of those that are gone */
	uint64_t best_us;
	int looks; /* for a cgroup: its folders may be made after the step began */
	char *cgroup_file;
};

struct stat_line {
	pid_t parent;
	uint64_t own, waited, start;
};

const struct series processes_series = {
	.source = "processes",
	.name = (char *)"cpu",
	.device = (char *)"step",
	.meaning = M_CPU_US,
	.scope = SCOPE_OWN,
	.behaviour = SERIES_WRAPS,
	.width = 64,
	.scale = 1,
};

/* proc(5): /proc/PID/stat. The name in brackets may hold anything, also brackets. */
static bool parse_stat(const char *text, struct stat_line *line)
{
	unsigned long long user, system, start;
	long long child_user, child_system;
	const char *p = strrchr(text, ')');
	int parent;

	if (!p || sscanf(p + 1,
			 " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %lld %lld"
			 " %*d %*d %*d %*d %llu",
			 &parent, &user, &system, &child_user, &child_system, &start) != 6)
		return false;
	line->parent = parent;
	line->own = user + system;
	line->waited = child_user > 0 && child_system >= 0 ? (uint64_t)child_user + (uint64_t)child_system
		       : child_system > 0		   ? (uint64_t)child_system
							   : 0;
	line->start = start;
	return true;
}

static bool read_stat(const struct process_reader *reader, pid_t pid, struct stat_line *line)
{
	char path[PATH_MAX], text[1024];

	snprintf(path, sizeof(path), "%s/%d/stat", reader->proc, pid);
	return reader->read(reader->arg, path, text, sizeof(text)) > 0 && parse_stat(text, line);
}

/* --- the search ---------------------------------------------------------------------------------
 */

static pid_t newest_pid(const struct process_reader *reader)
{
	char path[PATH_MAX], text[256];
	int pid;

	snprintf(path, sizeof(path), "%s/loadavg", reader->proc);
	if (reader->read(reader->arg, path, text, sizeof(text)) <= 0 ||
	    sscanf(text, "%*s %*s %*s %*s %d", &pid) != 1)
		return 0;
	return pid;
}

/* Numbers are given out upwards and begin again at the end. */
static bool born_between(pid_t pid, pid_t last, pid_t newest)
{
	return last <= newest ? pid > last && pid <= newest : pid > last || pid <= newest;
}

static void note_born(struct process_scan *scan, pid_t pid, pid_t parent)
{
	if (scan->count == scan->room) {
		size_t room = scan->room ? scan->room * 2 : 256;
		struct process_born *more;

		if (room > BORN_MAX || !(more = reallocarray(scan->born, room, sizeof(*more))))
			return;
		scan->born = more;
		scan->room = room;
	}
	scan->born[scan->count++] = (struct process_born){ .pid = pid, .parent = parent };
}

void process_scan(struct process_scan *scan, const struct process_reader *reader)
{
	pid_t newest = newest_pid(reader), last = scan->last;
	bool all = scan->all;
	struct dirent *entry;
	struct stat_line line;
	DIR *dir;

	scan->count = 0;
	scan->last = newest;
	if (!newest || (!all && (!last || newest == last)) || !(dir = opendir(reader->proc)))
		return;
	scan->all = false;
	while ((entry = readdir(dir))) {
		uint64_t pid;

		if (isdigit((unsigned char)entry->d_name[0]) &&
		    u64_parse(entry->d_name, INT_MAX, &pid) &&
		    (all || born_between((pid_t)pid, last, newest)) &&
		    read_stat(reader, (pid_t)pid, &line))
			note_born(scan, (pid_t)pid, line.parent);
	}
	closedir(dir);
}

void process_scan_free(struct process_scan *scan)
{
	free(scan->born);
	memset(scan, 0, sizeof(*scan));
}

/* --- one step -----------------------------------------------------------------------------------
 */

struct processes *processes_new(pid_t stepd, uint32_t job, uint32_t step)
{
	struct processes *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->job = job;
	p->step = step;
	processes_add(p, stepd);
	if (p->count == 1)
		return p;
	processes_free(p);
	return NULL;
}

void processes_free(struct processes *p)
{
	if (!p)
		return;
	free(p->list);
	free(p->cgroup_file);
	free(p);
}

static bool has_process(const struct processes *p, pid_t pid)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->list[i].pid == pid)
			return true;
	return false;
}

void processes_add(struct processes *p, pid_t pid)
{
	if (pid <= 0 || p->count >= PROCESSES_MAX || has_process(p, pid))
		return;
	if (p->count == p->room) {
		size_t room = p->room ? p->room * 2 : 8;
		struct process *more = reallocarray(p->list, room, sizeof(*more));

		if (!more)
			return;
		p->list = more;
		p->room = room;
	}
	p->list[p->count++] = (struct process){ .pid = pid };
}

/* Children mostly follow their parents in the scan; what does not is found by looking again. */
void processes_adopt(struct processes *p, const struct process_scan *scan)
{
	size_t before;

	if (p->cgroup_file)
		return;
	do {
		before = p->count;
		for (size_t i = 0; i < scan->count; i++)
			if (has_process(p, scan->born[i].parent))
				processes_add(p, scan->born[i].pid);
	} while (p->count > before);
}

/* The end of "/job_J/step_S" in a cgroup path, as a length; 0: it is not in there. */
static size_t step_part(const char *path, uint32_t job, uint32_t step)
{
	char want[64], name[STEP_TEXT];
	const char *at;
	int len = snprintf(want, sizeof(want), "/job_%u/step_%s", job, step_format(step, name));

	at = strstr(path, want);
	if (!at || (at[len] != '/' && at[len] != '\0'))
		return 0;
	return (size_t)(at - path) + (size_t)len;
}

/* Where the hierarchy is mounted: a cgroup2, or a cgroup with that controller. "" when nowhere. */
static void find_mount(const struct process_reader *reader, const char *controller, char *mount,
		       size_t size)
{
	char path[PATH_MAX], *text = malloc(CGROUP_TEXT * 8), *save = NULL;

	mount[0] = '\0';
	snprintf(path, sizeof(path), "%s/self/mountinfo", reader->proc);
	if (!text || reader->read(reader->arg, path, text, CGROUP_TEXT * 8) <= 0) {
		free(text);
		return;
	}
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char root[256], point[1024], type[32], options[512];
		const char *rest = strstr(line, " - ");

		if (!rest || sscanf(line, "%*s %*s %*s %255s %1023s", root, point) != 2 ||
		    sscanf(rest, " - %31s %*s %511s", type, options) != 2 || strcmp(root, "/") != 0)
			continue;
		if (controller ? !strcmp(type, "cgroup") && strstr(options, controller)
			       : !strcmp(type, "cgroup2")) {
			snprintf(mount, size, "%s", point);
			break;
		}
	}
	free(text);
}

/* A line of /proc/PID/cgroup, "N:controllers:path", to the file with the step's CPU time. */
static char *cgroup_file_of(const struct processes *p, const struct process_reader *reader,
			    const char *line)
{
	const char *controllers = strchr(line, ':'),
		   *path = controllers ? strchr(controllers + 1, ':') : NULL;
	char mount[1024], *file;
	size_t len = path ? step_part(path + 1, p->job, p->step) : 0;
	bool unified = path && path == controllers + 1;

	if (len == 0 || (!unified && !strstr(controllers, "cpuacct")))
		return NULL;
	find_mount(reader, unified ? NULL : "cpuacct", mount, sizeof(mount));
	if (mount[0] == '\0')
		return NULL;
	/* v2: slurmstepd itself is in .../slurm, the tasks in .../user. */
	file = io_format("%s%.*s/%s", mount, (int)len, path + 1,
			 unified ? "user/cpu.stat" : "cpuacct.usage");
	if (file && access(file, R_OK) == 0)
		return file;
	free(file);
	return NULL;
}

static void look_for_cgroup(struct processes *p, const struct process_reader *reader)
{
	char path[PATH_MAX], *text = malloc(CGROUP_TEXT), *save = NULL;

	p->looks++;
	snprintf(path, sizeof(path), "%s/%d/cgroup", reader->proc, p->list[0].pid);
	if (text && reader->read(reader->arg, path, text, CGROUP_TEXT) > 0)
		for (char *line = strtok_r(text, "\n", &save); line && !p->cgroup_file;
		     line = strtok_r(NULL, "\n", &save))
			p->cgroup_file = cgroup_file_of(p, reader, line);
	free(text);
}

/* cpu.stat has "usage_usec N", cpuacct.usage nanoseconds. */
static bool read_cgroup(struct processes *p, const struct process_reader *reader, uint64_t *us)
{
	char text[1024], *line;
	unsigned long long number;

	if (reader->read(reader->arg, p->cgroup_file, text, sizeof(text)) <= 0)
		return false;
	line = strstr(text, "usage_usec ");
	if (line && sscanf(line, "usage_usec %llu", &number) == 1) {
		*us = number;
		return true;
	}
	if (!isdigit((unsigned char)text[0]) || sscanf(text, "%llu", &number) != 1)
		return false;
	*us = number / 1000;
	return true;
}

/* Reads the i-th process; false when it is gone (or its number is another's by now). */
static bool refresh(struct process *process, const struct process_reader *reader,
		    struct stat_line *line)
{
	if (!read_stat(reader, process->pid, line))
		return false;
	if (process->start && process->start != line->start)
		return false;
	process->start = line->start;
	process->own = line->own;
	return true;
}

static bool read_descendants(struct processes *p, const struct process_reader *reader, uint64_t *us)
{
	uint64_t seen = 0, living = 0, ticks_per_s = (uint64_t)sysconf(_SC_CLK_TCK);
	struct stat_line line;
	size_t kept = 1;
	bool any = false;

	if (refresh(&p->list[0], reader, &line)) { /* slurmstepd: only what it waited for */
		living += line.waited;
		any = true;
	}
	for (size_t i = 1; i < p->count; i++) {
		struct process *process = &p->list[i];

		if (!refresh(process, reader, &line)) {
			p->ended += process->own;
			continue;
		}
		seen += process->own;
		living += line.own + line.waited;
		any = true;
		p->list[kept++] = *process;
	}
	p->count = kept;
	seen += p->ended;
	*us = (seen > living ? seen : living) * (1000000 / (ticks_per_s ? ticks_per_s : 100));
	return any;
}

bool processes_read(struct processes *p, const struct process_reader *reader, uint64_t *cpu_us)
{
	uint64_t us;

	if (!p->cgroup_file && p->looks < LOOKS)
		look_for_cgroup(p, reader);
	if (!(p->cgroup_file ? read_cgroup(p, reader, &us) : read_descendants(p, reader, &us)))
		return false;
	if (us > p->best_us)
		p->best_us = us;
	*cpu_us = p->best_us;
	return true;
}
