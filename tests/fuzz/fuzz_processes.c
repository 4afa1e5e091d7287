/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_processes.c - a step's processes in /proc: the parts of the input are the stat files of
 * process 1 and of all others, the cgroup file, mountinfo, loadavg and the cgroup's CPU time.
 */
#include <unistd.h>

#include "fuzz.h"
#include "source_processes.h"

enum { STAT1, STAT, CGROUP, MOUNTINFO, LOADAVG, USAGE, FILES };

static bool ends(const char *path, const char *with)
{
	size_t len = strlen(path), n = strlen(with);

	return len >= n && !strcmp(path + len - n, with);
}

static const char *choose(char *const *parts, const char *path)
{
	return ends(path, "/1/stat")	  ? parts[STAT1]
	       : ends(path, "/stat")	  ? parts[STAT]
	       : ends(path, "/cgroup")	  ? parts[CGROUP]
	       : ends(path, "/mountinfo") ? parts[MOUNTINFO]
	       : ends(path, "/loadavg")	  ? parts[LOADAVG]
					  : parts[USAGE];
}

static ssize_t read_part(void *arg, const char *path, char *buf, size_t size)
{
	const char *text = choose(arg, path);
	size_t len = strlen(text) < size ? strlen(text) : size - 1;

	memcpy(buf, text, len);
	buf[len] = '\0';
	return (ssize_t)len;
}

/* A /proc with some processes, and a cgroup at "." so that an input can name it. */
static void make_folder(void)
{
	static bool ready;

	if (ready)
		return;
	ready = true;
	fuzz_put("proc/1/x", "", 0);
	fuzz_put("proc/2/x", "", 0);
	fuzz_put("proc/30/x", "", 0);
	fuzz_put("proc/self/x", "", 0);
	fuzz_put("job_7/step_3/user/cpu.stat", "", 0);
	fuzz_put("job_7/step_3/cpuacct.usage", "", 0);
	must(chdir(fuzz_folder()) == 0);
}

static void run(const char *data, size_t len)
{
	char *text = fuzz_text(data, len), *parts[FILES];
	struct process_reader reader = { read_part, parts, "proc" };
	struct process_scan scan = { .last = 1 };
	struct processes *p = fuzz_have(processes_new(1, 7, 3));
	uint64_t us = 0, before = 0;

	make_folder();
	for (size_t count = fuzz_cut(text, parts, FILES); count < FILES; count++)
		parts[count] = parts[count - 1];
	for (int i = 0; i < 3; i++) {
		process_scan(&scan, &reader);
		processes_adopt(p, &scan);
		processes_add(p, 30);
		if (processes_read(p, &reader, &us))
			must(us >= before);
		before = us;
	}
	process_scan_free(&scan);
	processes_free(p);
	free(text);
}

const struct fuzz_target fuzz_processes = { "processes", "", run };
