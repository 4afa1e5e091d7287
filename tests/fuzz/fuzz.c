/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz.c - the table of targets, what they share, and the two ways to run them.
 *
 * Built with FUZZ_LIBFUZZER it is what libFuzzer calls; the environment's FUZZ_TARGET says which
 * target. Otherwise it is a test: every target, in a child, over all its seeds. Then
 *     replay --targets            prints the names
 *     replay --seeds TARGET       prints the seeds' paths
 *     replay TARGET FILE...       runs the target over those files
 */
#include "unit.h"

#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <sys/stat.h>

#include "child.h"
#include "fuzz.h"

extern const struct fuzz_target fuzz_api, fuzz_conf, fuzz_env, fuzz_fabric, fuzz_health, fuzz_hosts,
	fuzz_ibnetdiscover, fuzz_jobfield, fuzz_json, fuzz_layout, fuzz_machine, fuzz_map,
	fuzz_names, fuzz_options, fuzz_packet, fuzz_processes, fuzz_record, fuzz_show, fuzz_sinfo,
	fuzz_slurm, fuzz_slurmconf, fuzz_source, fuzz_summary, fuzz_text_forms, fuzz_timeline,
	fuzz_wire, fuzz_nccl, fuzz_namemap, fuzz_partitions, fuzz_cache, fuzz_lldp;

static const struct fuzz_target *const targets[] = {
	&fuzz_api,	 &fuzz_conf,	 &fuzz_env,	&fuzz_fabric,	     &fuzz_health,
	&fuzz_hosts,	 &fuzz_jobfield, &fuzz_json,	&fuzz_ibnetdiscover, &fuzz_layout,
	&fuzz_machine,	 &fuzz_map,	 &fuzz_names,	&fuzz_options,	     &fuzz_packet,
	&fuzz_processes, &fuzz_record,	 &fuzz_show,	&fuzz_slurm,	     &fuzz_slurmconf,
	&fuzz_source,	 &fuzz_sinfo,	 &fuzz_summary, &fuzz_text_forms,    &fuzz_timeline,
	&fuzz_wire,	 &fuzz_nccl,	 &fuzz_namemap, &fuzz_partitions,    &fuzz_cache,
	&fuzz_lldp,
};

#define TARGETS (sizeof(targets) / sizeof(targets[0]))
#define SECONDS 120 /* for all seeds of one target */

static const struct fuzz_target *find_target(const char *name)
{
	for (size_t i = 0; name && i < TARGETS; i++)
		if (!strcmp(targets[i]->name, name))
			return targets[i];
	return NULL;
}

/* ---- what targets share ---- */

void fuzz_broken(const char *file, int line, const char *condition)
{
	fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, condition);
	abort();
}

void *fuzz_have(void *memory)
{
	must(memory != NULL);
	return memory;
}

char *fuzz_text(const char *data, size_t len)
{
	char *text = fuzz_have(malloc(len + 1));

	if (len)
		memcpy(text, data, len);
	text[len] = '\0';
	return text;
}

size_t fuzz_cut(char *text, char **parts, size_t max)
{
	size_t count = 0;

	for (parts[count++] = text; count < max; parts[count++] = text) {
		text = strstr(text, FUZZ_BETWEEN);
		if (!text)
			break;
		text[1] = '\0'; /* the newline stays with its line */
		text += strlen(FUZZ_BETWEEN);
	}
	return count;
}

const char *fuzz_file(const char *data, size_t len)
{
	static char path[32];
	static int fd = -1;

	if (fd < 0) {
		fd = memfd_create("fuzz", MFD_CLOEXEC);
		must(fd >= 0 && fchmod(fd, 0600) == 0);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	must(ftruncate(fd, 0) == 0 && pwrite(fd, data, len, 0) == (ssize_t)len);
	return path;
}

static char *folder;
static pid_t folder_of;

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

static void remove_folder(void)
{
	if (folder && folder_of == getpid())
		nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(folder);
	folder = NULL;
}

const char *fuzz_folder(void)
{
	const char *base = getenv("TMPDIR");

	if (folder && folder_of == getpid())
		return folder;
	folder = fuzz_have(io_format("%s/slurm-fabric-fuzz.XXXXXX", base ? base : "/tmp"));
	folder_of = getpid();
	must(mkdtemp(folder) != NULL && atexit(remove_folder) == 0);
	return folder;
}

void fuzz_put(const char *name, const char *data, size_t len)
{
	char *path = fuzz_have(io_format("%s/%s", fuzz_folder(), name));
	char *slash = strrchr(path, '/');
	int fd;

	*slash = '\0';
	must(io_mkdirs(path, 0755, NULL) == 0);
	*slash = '/';
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	must(fd >= 0 && write(fd, data, len) == (ssize_t)len);
	close(fd);
	free(path);
}

char *fuzz_data(const char *name, size_t *len)
{
	char *path = fuzz_have(io_format("%s/%s", TEST_DATA, name)), *text = NULL;

	must(io_read(path, 64u << 20, &text, len, NULL) == 0);
	free(path);
	return text;
}

bool fuzz_same(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/* ---- libFuzzer ---- */

#ifdef FUZZ_LIBFUZZER

static const struct fuzz_target *target;

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const char *name = getenv("FUZZ_TARGET");

	(void)argc;
	(void)argv;
	target = find_target(name);
	if (target)
		return 0;
	fprintf(stderr, "FUZZ_TARGET=%s: there is no such target\n", name ? name : "");
	exit(2);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	target->run((const char *)data, len);
	return 0;
}

#else

/* ---- the test ---- */

/* The paths that a pattern below tests/data stands for. */
static void find_paths(const char *pattern, glob_t *found)
{
	char *path = fuzz_have(io_format("%s/%s", TEST_DATA, pattern));
	int rc = glob(path, found->gl_pathc ? GLOB_APPEND : 0, NULL, found);

	must(rc == 0 || rc == GLOB_NOMATCH);
	free(path);
}

/* All seeds and findings of a target. */
static void find_seeds(const struct fuzz_target *of, glob_t *found)
{
	char *kept = fuzz_have(io_format("fuzz/%s/*", of->name)), *save = NULL;
	char *seeds = fuzz_text(of->seeds, strlen(of->seeds));

	memset(found, 0, sizeof(*found));
	for (char *word = strtok_r(seeds, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		size_t before = found->gl_pathc;

		find_paths(word, found);
		must(found->gl_pathc > before);
	}
	find_paths(kept, found);
	free(seeds);
	free(kept);
}

/* The bytes lie in memory of just that size, so that a checker sees a read behind them. */
static void run_file(const struct fuzz_target *of, const char *path)
{
	struct err err = { "" };
	char *text, *data;
	size_t len;

	if (io_read(path, 64u << 20, &text, &len, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		abort();
	}
	data = fuzz_have(malloc(len ? len : 1));
	memcpy(data, text, len);
	free(text);
	of->run(data, len);
	free(data);
}

static void run_seeds(void *arg, char *at)
{
	const struct fuzz_target *of = arg;
	glob_t found;

	find_seeds(of, &found);
	must(found.gl_pathc > 0);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		snprintf(at, CHILD_AT, "%s", found.gl_pathv[i]);
		run_file(of, found.gl_pathv[i]);
	}
	globfree(&found);
	snprintf(at, CHILD_AT, "%s", "its end");
}

static void seeds_and_findings(void **state)
{
	char why[CHILD_AT + 64];

	if (!child_does(run_seeds, *state, SECONDS, why))
		fail_msg("%s", why);
}

static int test_all(void)
{
	struct CMUnitTest tests[TARGETS];

	for (size_t i = 0; i < TARGETS; i++)
		tests[i] = (struct CMUnitTest){ targets[i]->name, seeds_and_findings, NULL, NULL,
						(void *)(uintptr_t)targets[i] };
	return cmocka_run_group_tests(tests, NULL, NULL);
}

static int usage(void)
{
	fputs("usage: replay [--targets | --seeds TARGET | TARGET FILE...]\n", stderr);
	return 2;
}

int main(int argc, char **argv)
{
	bool list = argc > 1 && !strcmp(argv[1], "--seeds");
	const struct fuzz_target *of =
		find_target(argc > 1 ? argv[argc > 2 && list ? 2 : 1] : NULL);
	glob_t found;

	if (argc == 1)
		return test_all();
	if (argc == 2 && !strcmp(argv[1], "--targets")) {
		for (size_t i = 0; i < TARGETS; i++)
			puts(targets[i]->name);
		return 0;
	}
	if (!of || (list && argc != 3))
		return usage();
	if (list) {
		find_seeds(of, &found);
		for (size_t i = 0; i < found.gl_pathc; i++)
			puts(found.gl_pathv[i]);
		globfree(&found);
		return 0;
	}
	for (int i = 2; i < argc; i++)
		run_file(of, argv[i]);
	return 0;
}

#endif
