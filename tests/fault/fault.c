/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fault.c - see fault.h.
 *
 * The functions below have the names of libc's, and the dynamic linker takes them for those of all
 * libraries as well. What is real is reached by names that are no one else's: glibc's __libc_malloc
 * or, under AddressSanitizer, its __interceptor_malloc, and syscall(2). Blocks that were given
 * while faults were on are in a table until they are freed: what is left there leaks. This file is
 * built without sanitizers, because it is called before they are ready.
 */
#undef _FORTIFY_SOURCE /* its inline functions have the same names */
#include "fault.h"

#include <dirent.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "child.h"

/* The two that may be there: AddressSanitizer's, else glibc's own. */
#define DECLARE_REAL(type, name, ...)                                                              \
	type __interceptor_##name(__VA_ARGS__) __attribute__((weak));                              \
	type __libc_##name(__VA_ARGS__)
#define REAL(name) (__interceptor_##name ? __interceptor_##name : __libc_##name)

DECLARE_REAL(void *, malloc, size_t size);
DECLARE_REAL(void *, calloc, size_t count, size_t size);
DECLARE_REAL(void *, realloc, void *old, size_t size);
DECLARE_REAL(void, free, void *block);

#define SECONDS 600 /* of one test, sanitized and on a busy machine */
#define RUNS_MAX 1000000
#define SPARED 12
#define FILES 64
#define BLOCKS (1u << 13) /* a power of two, and far more than live at a time */

enum kind { MEMORY, IO, PART };

static const struct plan {
	const char *name;
	enum kind kind;
	bool stays;
} plans[] = {
	{ "allocation", MEMORY, false },
	{ "allocation and all behind it", MEMORY, true },
	{ "call", IO, false },
	{ "call and all behind it", IO, true },
	{ "read or write, in part", PART, false },
};

static const struct plan *plan = plans;
static unsigned int fail_at;	       /* 0: count only */
static atomic_uint calls, failed, met; /* since fault_on(); met: failed, or was spared */
static atomic_bool everywhere;
static _Thread_local bool armed;
/* What ends the process, or is broken, without memory: not ours to mend. */
static const char *spared[SPARED] = {
	"libslurm", "libconfuse",
	"json_tokener_parse_ex", /* json-c 0.16 dereferences a key that it could not copy, */
	"lh_table_resize",	 /* and leaks one */
};
static size_t spared_count = 4;
static void *trace[24]; /* of the first call that failed */
static int trace_depth;

/* ---- the decision ---- */

static bool is_on(void)
{
	return armed || atomic_load(&everywhere);
}

/* Whether the call is made by what is spared, or for it. */
static bool is_spared(void *const *frames, int depth)
{
	Dl_info info;

	for (int i = 0; spared_count && i < depth; i++) {
		if (!dladdr(frames[i], &info))
			continue;
		for (size_t k = 0; k < spared_count; k++)
			if (strstr(info.dli_fname, spared[k]) ||
			    (info.dli_sname && !strcmp(info.dli_sname, spared[k])))
				return true;
	}
	return false;
}

/* It is this call's turn to fail. */
static bool take_turn(int code)
{
	void *frames[sizeof(trace) / sizeof(trace[0])];
	bool was_armed = armed;
	int depth;

	armed = false;
	depth = backtrace(frames, sizeof(frames) / sizeof(frames[0]));
	armed = was_armed;
	atomic_fetch_add(&met, 1);
	if (is_spared(frames, depth))
		return false;
	if (atomic_fetch_add(&failed, 1) == 0) {
		memcpy(trace, frames, sizeof(trace));
		trace_depth = depth;
	}
	errno = code;
	return true;
}

/* Whether this call is to fail, with that errno. */
static bool fails(enum kind kind, int code)
{
	unsigned int n;

	if (!is_on() || kind != plan->kind)
		return false;
	n = atomic_fetch_add(&calls, 1) + 1;
	if (n != fail_at && !(plan->stays && fail_at && n > fail_at))
		return false;
	return take_turn(code);
}

/* ---- blocks ---- */

/* A hash table; a block lies at its slot or, with no gap between, behind it. */
struct block {
	const void *at;
	size_t size;
};

static struct block blocks[BLOCKS];
static size_t live;
static atomic_flag blocks_lock = ATOMIC_FLAG_INIT;

static size_t slot_of(const void *at)
{
	return (size_t)((uintptr_t)at >> 4) * 0x9e3779b1u >> 8 & (BLOCKS - 1);
}

static void lock(void)
{
	while (atomic_flag_test_and_set(&blocks_lock))
		;
}

static void unlock(void)
{
	atomic_flag_clear(&blocks_lock);
}

static void *keep(void *at, size_t size)
{
	size_t i = slot_of(at);

	if (!at)
		return NULL;
	lock();
	must(live < BLOCKS / 2);
	while (blocks[i].at)
		i = (i + 1) & (BLOCKS - 1);
	blocks[i] = (struct block){ at, size };
	live++;
	unlock();
	return at;
}

/* Empties a place, and closes the gap: what follows moves up unless that is before its slot. */
static void empty(size_t gap)
{
	for (size_t i = (gap + 1) & (BLOCKS - 1); blocks[i].at; i = (i + 1) & (BLOCKS - 1)) {
		size_t behind_slot = (i - slot_of(blocks[i].at)) & (BLOCKS - 1);

		if (((i - gap) & (BLOCKS - 1)) > behind_slot)
			continue;
		blocks[gap] = blocks[i];
		gap = i;
	}
	blocks[gap].at = NULL;
	live--;
}

/* True when it was kept. */
static bool forget(const void *at)
{
	size_t i = slot_of(at);
	bool found = false;

	lock();
	while (at && blocks[i].at && !found) {
		found = blocks[i].at == at;
		if (found)
			empty(i);
		i = (i + 1) & (BLOCKS - 1);
	}
	unlock();
	return found;
}

static void forget_all(void)
{
	lock();
	memset(blocks, 0, sizeof(blocks));
	live = 0;
	unlock();
}

static void must_be_free(void)
{
	for (size_t i = 0; live && i < BLOCKS; i++)
		if (blocks[i].at)
			fprintf(stderr, "%zu bytes are left: \"%.32s\"\n", blocks[i].size,
				(const char *)blocks[i].at);
	must(live == 0);
}

/* ---- memory ---- */

static void *given(void *block, size_t size)
{
	return is_on() ? keep(block, size) : block;
}

void *malloc(size_t size)
{
	return fails(MEMORY, ENOMEM) ? NULL : given(REAL(malloc)(size), size);
}

void *calloc(size_t count, size_t size)
{
	return fails(MEMORY, ENOMEM) ? NULL : given(REAL(calloc)(count, size), count * size);
}

static void *resize(void *old, size_t size)
{
	bool kept = forget(old); /* before another thread can be given its place */
	void *block = REAL(realloc)(old, size);

	if (!block && size && kept)
		keep(old, size);
	if (kept)
		return keep(block, size);
	return old ? block : given(block, size); /* what was there before stays somebody else's */
}

void *realloc(void *old, size_t size)
{
	return fails(MEMORY, ENOMEM) ? NULL : resize(old, size);
}

void *reallocarray(void *old, size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return fails(MEMORY, ENOMEM) ? NULL : resize(old, bytes);
}

void free(void *block)
{
	forget(block);
	REAL(free)(block);
}

/* These two are libc's, but AddressSanitizer has its own, which would pass malloc() by. */
char *strndup(const char *text, size_t max)
{
	size_t len = strnlen(text, max);
	char *copy = fails(MEMORY, ENOMEM) ? NULL : given(REAL(malloc)(len + 1), len + 1);

	if (copy) {
		memcpy(copy, text, len);
		copy[len] = '\0';
	}
	return copy;
}

char *strdup(const char *text)
{
	size_t size = strlen(text) + 1;
	char *copy = fails(MEMORY, ENOMEM) ? NULL : given(REAL(malloc)(size), size);

	return copy ? memcpy(copy, text, size) : NULL;
}

void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
	if (fails(MEMORY, ENOMEM))
		return MAP_FAILED;
	return (void *)syscall(SYS_mmap, at, size, protection, flags, fd, offset);
}
void *mmap64(void *at, size_t size, int protection, int flags, int fd, off64_t offset)
	__attribute__((alias("mmap")));

/* ---- the kernel ---- */

/* What is asked for, or the half of it. */
static size_t part_of(size_t size)
{
	return size > 1 && fails(PART, 0) ? size / 2 : size;
}

int open(const char *path, int flags, ...)
{
	va_list ap;
	mode_t mode;

	va_start(ap, flags);
	mode = flags & O_CREAT ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	return fails(IO, EMFILE) ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}
int open64(const char *path, int flags, ...) __attribute__((alias("open")));

ssize_t read(int fd, void *buf, size_t size)
{
	return fails(IO, EIO) ? -1 : syscall(SYS_read, fd, buf, part_of(size));
}

ssize_t pread(int fd, void *buf, size_t size, off_t at)
{
	return fails(IO, EIO) ? -1 : syscall(SYS_pread64, fd, buf, part_of(size), at);
}
ssize_t pread64(int fd, void *buf, size_t size, off64_t at) __attribute__((alias("pread")));

ssize_t write(int fd, const void *buf, size_t size)
{
	return fails(IO, ENOSPC) ? -1 : syscall(SYS_write, fd, buf, part_of(size));
}

ssize_t pwrite(int fd, const void *buf, size_t size, off_t at)
{
	return fails(IO, ENOSPC) ? -1 : syscall(SYS_pwrite64, fd, buf, part_of(size), at);
}
ssize_t pwrite64(int fd, const void *buf, size_t size, off64_t at) __attribute__((alias("pwrite")));

int rename(const char *from, const char *to)
{
	return fails(IO, EIO) ? -1 : (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int mkdir(const char *path, mode_t mode)
{
	return fails(IO, ENOSPC) ? -1 : (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
}

int fsync(int fd)
{
	return fails(IO, EIO) ? -1 : (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd)
{
	return fails(IO, EIO) ? -1 : (int)syscall(SYS_fdatasync, fd);
}

int ftruncate(int fd, off_t size)
{
	return fails(IO, EIO) ? -1 : (int)syscall(SYS_ftruncate, fd, size);
}
int ftruncate64(int fd, off64_t size) __attribute__((alias("ftruncate")));

int socket(int domain, int type, int protocol)
{
	return fails(IO, EMFILE) ? -1 : (int)syscall(SYS_socket, domain, type, protocol);
}

ssize_t send(int fd, const void *buf, size_t size, int flags)
{
	return fails(IO, EAGAIN) ? -1 : syscall(SYS_sendto, fd, buf, size, flags, NULL, 0);
}

ssize_t getrandom(void *buf, size_t size, unsigned int flags)
{
	return fails(IO, EAGAIN) ? -1 : syscall(SYS_getrandom, buf, size, flags);
}

/* These do more than a system call. */
DIR *opendir(const char *path)
{
	static DIR *(*real)(const char *);

	if (!real)
		real = (DIR * (*)(const char *)) dlsym(RTLD_NEXT, "opendir");
	return fails(IO, EMFILE) ? NULL : real(path);
}

int mkostemp(char *path, int flags)
{
	static int (*real)(char *, int);

	if (!real)
		real = (int (*)(char *, int))dlsym(RTLD_NEXT, "mkostemp");
	return fails(IO, ENOSPC) ? -1 : real(path, flags);
}

/* ---- what tests use ---- */

void fault_broken(const char *file, int line, const char *condition)
{
	fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, condition);
	abort();
}

void fault_on(void)
{
	atomic_store(&calls, 0);
	atomic_store(&failed, 0);
	atomic_store(&met, 0);
	armed = true;
}

void fault_off(void)
{
	armed = false;
	atomic_store(&everywhere, false);
}

void fault_everywhere(bool on)
{
	if (on)
		fault_on();
	armed = false;
	atomic_store(&everywhere, on);
}

bool fault_hit(void)
{
	return atomic_load(&failed) > 0;
}

bool fault_hit_memory(void)
{
	return fault_hit() && plan->kind == MEMORY;
}

void fault_same(char *text, char **expected)
{
	if (!*expected)
		*expected = strdup(text);
	if (strcmp(text, *expected) != 0)
		fprintf(stderr, "%s\nis not\n%s\n", text, *expected);
	must(!strcmp(text, *expected));
	free(text);
}

void fault_spare(const char *name)
{
	must(spared_count < SPARED);
	spared[spared_count++] = name;
}

static char *folder;

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	return at->level ? remove(path) : 0;
}

static void empty_folder(void)
{
	nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

const char *fault_folder(void)
{
	return folder;
}

static char *files[FILES];
static size_t file_count;

static void forget_files(void)
{
	while (file_count)
		free(files[--file_count]);
}

static int add_file(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)at;
	must(file_count < FILES);
	if (type == FTW_F)
		files[file_count++] = strdup(path);
	return 0;
}

void fault_look(void)
{
	forget_files();
	nftw(folder, add_file, 16, FTW_PHYS);
}

size_t fault_files(const char *with, void (*each)(const char *path))
{
	size_t count = 0, n = strlen(with);

	for (size_t i = 0; i < file_count; i++) {
		size_t len = strlen(files[i]);

		if (len < n || strcmp(files[i] + len - n, with) != 0)
			continue;
		count++;
		if (each)
			each(files[i]);
	}
	return count;
}

/* What the dynamic linker keeps is known to LeakSanitizer only when it asked for it itself. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:dl_open_worker_begin\n";
}

/* ---- the loop ---- */

static void on_signal(int number)
{
	fprintf(stderr, "the call that failed:\n");
	backtrace_symbols_fd(trace, trace_depth, STDERR_FILENO);
	signal(number, SIG_DFL);
	raise(number);
}

/* The work with the n-th call failing; n 0: none. True when there was such a call. */
static bool run_once(const struct fault_work *work, unsigned int n)
{
	fail_at = n;
	forget_all();
	work->work();
	fault_off();
	if (n) /* the first run fills what libraries keep for good */
		must_be_free();
	empty_folder();
	return atomic_load(&met) > 0;
}

static void run_all(void *arg, char *at)
{
	const struct fault_work *work = arg;
	bool all = getenv("FAULT_ALL");

	/* no disk is tested, and syncs are many */
	if (access("/dev/shm", W_OK) == 0)
		setenv("TMPDIR", "/dev/shm", 0);
	signal(SIGABRT, on_signal);
	signal(SIGSEGV, on_signal);
	backtrace(trace, 1); /* loads what it needs */
	folder = test_folder();
	for (size_t i = 0; i < sizeof(plans) / sizeof(plans[0]); i++) {
		plan = &plans[i];
		for (unsigned int n = 0; n < RUNS_MAX; n += all || n < 50 ? 1 : 1 + n / 32) {
			snprintf(at, CHILD_AT, "%s %u", plan->name, n);
			if (!run_once(work, n) && n)
				break;
		}
	}
	snprintf(at, CHILD_AT, "%s", "its end");
	forget_files();
	rmdir(folder);
	free(folder);
}

void fault_test(void **state)
{
	char why[CHILD_AT + 64];

	if (!child_does(run_all, *state, SECONDS, why))
		fail_msg("%s", why);
}
