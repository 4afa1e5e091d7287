/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sampler.c - see sampler.h.
 *
 * The lock covers requests, watches and finished passes; nothing is read while it is held. A worker
 * is one reading thread. Its state is one atomic word, a number that grows with each read and two
 * bits: reading, abandoned. Whoever changes the word from "reading" decides: the worker when its
 * read came back, sampler_check() when it did not. An abandoned worker touches nothing but the file
 * it was reading, hands that back, and ends.
 */
#include "sampler.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "io.h"
#include "source_processes.h"

#define SECOND INT64_C(1000000000)
#define HANG_NS (3 * SECOND / 2) /* a firmware query that fails takes 0.1 s */
#define HANG_CHECKS 2
#define EXTRA_GAP_NS (SECOND / 20) /* begin and end samples: 20 a second */
#define RARE_NS (10 * SECOND)
#define SCAN_NS (10 * SECOND)
#define DITHER 0.3
#define ABANDONED_MAX 8
#define QUEUE_MAX 64
#define WATCHES_MAX 1024
#define TASKS_PENDING 512
#define FILE_TEXT (256u << 10) /* diskstats: 2 000 disks and partitions */

enum { READING = 1, ABANDONED = 2, STEP = 4 };

/* Something that may hang: one counter file, or the search of one source, or a step's processes. */
struct hazard {
	const char *path;
	atomic_bool *hung;
};

struct watch {
	uint64_t key;
	struct processes *processes;
	pid_t tasks[TASKS_PENDING]; /* told of, not taken yet */
	size_t task_count;
	int users; /* the table, and each pass that reads it */
	atomic_bool hung;
};

struct worker {
	struct sampler *sampler;
	pthread_t thread;
	_Atomic uint64_t word;
	_Atomic(const struct hazard *) hazard;
	struct hazard processes; /* what a process_reader reads at the moment */
	char processes_path[PATH_MAX];
	struct watch *held[WATCHES_MAX]; /* by the pass that is under way */
	char text[FILE_TEXT];
};

struct sampler {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	char *root;
	int notify;
	bool stop, rescan;
	struct worker *worker; /* the one that is not abandoned; NULL: none is left */
	uint64_t seen_word;    /* its word at the last check, and since when it is that */
	int64_t seen_ns;
	int seen_checks; /* a process that was stopped has looked once, not for long */
	int abandoned;
	int64_t interval_ns, nominal_ns, due_ns;
	uint64_t requested, served;
	int64_t extra_ns; /* the last extra pass */
	struct watch *watches[WATCHES_MAX];
	size_t watch_count;
	struct sampler_pass *queue[QUEUE_MAX];
	size_t queue_count;
	char hung_path[PATH_MAX]; /* the last one found */
	int hung_count;

	/* the worker's */
	struct source_list files;
	struct sampler_series *series, *old[64]; /* old ones stay: passes point to them */
	size_t old_count;
	struct process_scan scan;
	int64_t rare_ns, scan_ns;
	bool incomplete; /* not all series could be had: again with the next rare pass */
	atomic_bool scan_hung;
	atomic_bool adopt_all;
	atomic_bool source_hung[16];
	struct hazard source_hazard[16];
};

/* --- reads that may hang ------------------------------------------------------------------------
 */

static void enter(struct worker *w, const struct hazard *hazard)
{
	atomic_store(&w->hazard, hazard);
	atomic_store(&w->word, (atomic_load(&w->word) + STEP) | READING);
}

/* False: this worker was abandoned meanwhile. */
static bool leave(struct worker *w)
{
	uint64_t word = atomic_load(&w->word);

	return !(word & ABANDONED) &&
	       atomic_compare_exchange_strong(&w->word, &word, word & ~(uint64_t)READING);
}

/* An abandoned worker's last act: its file can be read again. */
static void hand_back(struct worker *w)
{
	struct sampler *s = w->sampler;

	pthread_mutex_lock(&s->lock);
	atomic_store(atomic_load(&w->hazard)->hung, false);
	s->hung_count--;
	s->rescan = true; /* a search that hung has found nothing yet */
	pthread_cond_broadcast(&s->wake);
	pthread_mutex_unlock(&s->lock);
}

/*
 * Reads a file that may be open already. The length; 0 for anything unreadable; -1: abandoned. On
 * -1 nothing but the file may be touched.
 */
static ssize_t read_file(struct worker *w, const struct hazard *hazard, struct source_file *file)
{
	ssize_t len = -1;
	int fd = file->fd;

	enter(w, hazard);
	if (fd < 0)
		fd = open(file->path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		len = source_read(fd, w->text, sizeof(w->text));
	if (len < 0 && fd >= 0) { /* the device may be gone and come back under the same name */
		close(fd);
		fd = -1;
	}
	file->fd = fd;
	if (!leave(w))
		return -1;
	return len > 0 ? len : 0;
}

/* For process_reader: any small file, by its path. */
static ssize_t read_path(void *arg, const char *path, char *buf, size_t size)
{
	struct worker *w = arg;
	ssize_t len = -1;
	int fd;

	if (atomic_load(&w->word) & ABANDONED)
		return -1;
	snprintf(w->processes_path, sizeof(w->processes_path), "%s", path);
	enter(w, &w->processes);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		len = source_read(fd, buf, size);
		close(fd);
	}
	return leave(w) ? len : -1;
}

/* --- finding series -----------------------------------------------------------------------------
 */

static bool known_series(const struct sampler_series *all, const struct series *s)
{
	for (size_t i = 0; all && i < all->count; i++)
		if (!strcmp(all->list[i]->device, s->device) &&
		    !strcmp(all->list[i]->name, s->name) &&
		    !strcmp(all->list[i]->source, s->source))
			return true;
	return false;
}

/*
 * Drops the series of a file that are known. A source's groups of series stay whole, because they
 * are known device by device.
 */
static void drop_known(const struct sampler_series *all, struct source_file *file)
{
	size_t kept = 0;

	for (size_t i = 0; i < file->count; i++) {
		if (known_series(all, &file->series[i])) {
			free(file->series[i].name);
			free(file->series[i].device);
		} else {
			file->series[kept++] = file->series[i];
		}
	}
	file->count = kept;
}

static bool has_room(const struct sampler *s, size_t more)
{
	return (s->series ? s->series->count : 0) + more <= SOURCE_MAX_SERIES &&
	       s->old_count < sizeof(s->old) / sizeof(s->old[0]);
}

/* A longer table of all series; the old one stays for passes that point to it. NULL without memory.
 */
static struct sampler_series *grow(struct sampler *s, size_t more)
{
	size_t count = s->series ? s->series->count : 0;
	struct sampler_series *all;

	all = calloc(1, sizeof(*all));
	if (all)
		all->list = calloc(count + more + 1, sizeof(*all->list));
	if (!all || !all->list) {
		free(all);
		return NULL;
	}
	if (count)
		memcpy(all->list, s->series->list, count * sizeof(*all->list));
	all->count = count;
	return all;
}

/* 0, or -ENOMEM when some are not known yet. */
static int take_over(struct sampler *s, struct source_list *found)
{
	struct sampler_series *all;
	struct source_file **more;
	size_t fresh = 0;

	for (size_t i = 0; i < found->count; i++) {
		drop_known(s->series, found->files[i]);
		fresh += found->files[i]->count;
	}
	if (fresh == 0 || !has_room(s, fresh))
		return 0;
	if (!(all = grow(s, fresh)))
		return -ENOMEM;
	more = reallocarray(s->files.files, s->files.count + found->count, sizeof(*more));
	if (!more) {
		free(all->list);
		free(all);
		return -ENOMEM;
	}
	s->files.files = more;
	for (size_t i = 0; i < found->count; i++) {
		struct source_file *file = found->files[i];

		if (file->count == 0)
			continue;
		file->first = all->count;
		for (size_t k = 0; k < file->count; k++)
			all->list[all->count++] = &file->series[k];
		more[s->files.count++] = file;
		found->files[i] = NULL;
	}
	if (s->series)
		s->old[s->old_count++] = s->series;
	s->series = all;
	return 0;
}

/* False: abandoned. */
static bool find_series(struct worker *w)
{
	struct sampler *s = w->sampler;
	bool incomplete = false;

	for (size_t i = 0; sources[i]; i++) {
		struct source_list found = { NULL, 0 };
		int rc;

		if (atomic_load(&s->source_hung[i]))
			continue;
		s->source_hazard[i] = (struct hazard){ sources[i]->name, &s->source_hung[i] };
		enter(w, &s->source_hazard[i]);
		rc = sources[i]->discover(s->root, &found);
		if (!leave(w)) {
			source_list_free(&found);
			return false;
		}
		/* a part of what there is could be a part of a disk's series */
		incomplete |= rc < 0 || take_over(s, &found) < 0;
		source_list_free(&found);
	}
	s->incomplete = incomplete;
	return true;
}

/* --- a pass -------------------------------------------------------------------------------------
 */

void sampler_pass_free(struct sampler_pass *pass)
{
	if (!pass)
		return;
	free(pass->values);
	free(pass->valid);
	free(pass->own);
	free(pass);
}

static struct sampler_pass *new_pass(const struct sampler_series *series, size_t watches)
{
	struct sampler_pass *pass = calloc(1, sizeof(*pass));
	size_t count = series ? series->count : 0;

	if (!pass)
		return NULL;
	pass->series = series;
	pass->values = calloc(count + 1, sizeof(*pass->values));
	pass->valid = calloc(count + 1, sizeof(*pass->valid));
	pass->own = calloc(watches + 1, sizeof(*pass->own));
	if (pass->values && pass->valid && pass->own)
		return pass;
	sampler_pass_free(pass);
	return NULL;
}

/* False: abandoned. */
static bool read_counters(struct worker *w, struct sampler_pass *pass, bool rare)
{
	struct sampler *s = w->sampler;

	for (size_t i = 0; i < s->files.count; i++) {
		struct source_file *file = s->files.files[i];
		struct hazard *hazard;
		ssize_t len;

		if ((file->rare && !rare) || atomic_load(&file->hung))
			continue;
		hazard = &(struct hazard){ file->path, &file->hung };
		len = read_file(w, hazard, file);
		if (len < 0) {
			hand_back(w);
			return false;
		}
		if (len > 0)
			file->source->parse(file, w->text, pass->values + file->first,
					    pass->valid + file->first);
	}
	return true;
}

/* False: abandoned. */
static bool read_processes(struct worker *w, struct sampler_pass *pass, struct watch **watches,
			   size_t count)
{
	struct sampler *s = w->sampler;
	struct process_reader reader = { read_path, w, "/proc" };
	bool search = pass->mono_ns - s->scan_ns >= SCAN_NS && !atomic_load(&s->scan_hung);

	w->processes = (struct hazard){ w->processes_path, &s->scan_hung };
	if (count && search) {
		s->scan_ns = pass->mono_ns;
		s->scan.all = s->scan.all || atomic_exchange(&s->adopt_all, false);
		process_scan(&s->scan, &reader);
	}
	for (size_t i = 0; i < count && !(atomic_load(&w->word) & ABANDONED); i++) {
		struct sampler_own *own = &pass->own[pass->own_count];

		if (atomic_load(&watches[i]->hung))
			continue;
		w->processes.hung = &watches[i]->hung;
		if (search)
			processes_adopt(watches[i]->processes, &s->scan);
		own->key = watches[i]->key;
		own->valid = processes_read(watches[i]->processes, &reader, &own->cpu_us);
		if (atomic_load(&w->word) & ABANDONED)
			break;
		pass->own_count++;
	}
	if (!(atomic_load(&w->word) & ABANDONED))
		return true;
	hand_back(w);
	return false;
}

/* --- the worker ---------------------------------------------------------------------------------
 */

static double random_unit(void) /* -1 to 1 */
{
	uint32_t bits = 0;

	if (getrandom(&bits, sizeof(bits), GRND_NONBLOCK) != (ssize_t)sizeof(bits))
		return 0;
	return (double)bits / (double)UINT32_MAX * 2 - 1;
}

/* The next place on the grid behind now; the grid never shifts, the instants move about it. */
static void next_instant(struct sampler *s, int64_t now)
{
	if (s->interval_ns == 0) {
		s->due_ns = INT64_MAX;
		return;
	}
	s->nominal_ns += s->interval_ns;
	if (s->nominal_ns <= now - s->interval_ns / 2) /* late: skip what can't be had any more */
		s->nominal_ns += (now - s->nominal_ns) / s->interval_ns * s->interval_ns;
	s->due_ns = s->nominal_ns + (int64_t)(random_unit() * DITHER * (double)s->interval_ns);
}

/* Waits until something is due. False: stop. With the lock held. */
static bool wait_due(struct sampler *s, struct worker *w, bool *grid)
{
	for (;;) {
		int64_t now = io_mono_ns(), due = s->due_ns;
		struct timespec until;

		if (s->stop || s->worker != w)
			return false;
		if (s->requested > s->served && s->extra_ns + EXTRA_GAP_NS < due)
			due = s->extra_ns + EXTRA_GAP_NS;
		*grid = s->due_ns <= now;
		if (due <= now || s->rescan) /* series are found before anybody waits for them */
			return true;
		if (due == INT64_MAX) {
			pthread_cond_wait(&s->wake, &s->lock);
			continue;
		}
		until.tv_sec = due / SECOND;
		until.tv_nsec = due % SECOND;
		pthread_cond_timedwait(&s->wake, &s->lock, &until);
	}
}

/* Puts what was told of tasks into the watches, and holds those for the pass. With the lock held.
 */
static size_t hold_watches(struct sampler *s, struct watch **held)
{
	for (size_t i = 0; i < s->watch_count; i++) {
		struct watch *watch = held[i] = s->watches[i];

		watch->users++;
		if (atomic_load(&watch->hung))
			continue;
		for (size_t k = 0; k < watch->task_count; k++)
			processes_add(watch->processes, watch->tasks[k]);
		watch->task_count = 0;
	}
	return s->watch_count;
}

static void release(struct watch *watch)
{
	if (--watch->users > 0)
		return;
	processes_free(watch->processes);
	free(watch);
}

static void deliver(struct sampler *s, struct sampler_pass *pass)
{
	uint64_t one = 1;

	if (s->queue_count == QUEUE_MAX) { /* the event loop was stopped: the oldest go */
		sampler_pass_free(s->queue[0]);
		memmove(s->queue, s->queue + 1, (QUEUE_MAX - 1) * sizeof(s->queue[0]));
		s->queue_count--;
	}
	s->queue[s->queue_count++] = pass;
	if (write(s->notify, &one, sizeof(one)) < 0) {
		/* full: it is readable anyway */
	}
}

/* One pass without the lock. NULL: abandoned (*gone tells), only a rescan, or no memory. */
static struct sampler_pass *take_pass(struct worker *w, struct watch **held, size_t count,
				      bool rescan, bool grid, bool extra, bool *gone)
{
	struct sampler *s = w->sampler;
	struct sampler_pass *pass;
	int64_t now = io_mono_ns();
	bool rare = extra || now - s->rare_ns >= RARE_NS;

	*gone = (rescan || (s->incomplete && rare)) && !find_series(w);
	if (*gone) {
		hand_back(w);
		return NULL;
	}
	pass = grid || extra ? new_pass(s->series, count) : NULL;
	if (!pass)
		return NULL;
	pass->t_ns = io_now_ns();
	pass->mono_ns = io_mono_ns();
	*gone = !read_counters(w, pass, rare) || !read_processes(w, pass, held, count);
	if (*gone) {
		sampler_pass_free(pass);
		return NULL;
	}
	if (rare)
		s->rare_ns = pass->mono_ns;
	return pass;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct sampler *s = w->sampler;
	bool grid = false, gone = false;

	pthread_mutex_lock(&s->lock);
	while (wait_due(s, w, &grid)) {
		uint64_t ticket = s->requested;
		bool extra = ticket > s->served && io_mono_ns() >= s->extra_ns + EXTRA_GAP_NS;
		bool rescan = s->rescan;
		int64_t nominal = grid ? s->nominal_ns : 0;
		size_t count = hold_watches(s, w->held);
		struct sampler_pass *pass;

		s->rescan = false;
		if (extra)
			s->extra_ns = io_mono_ns();
		pthread_mutex_unlock(&s->lock);
		pass = take_pass(w, w->held, count, rescan, grid, extra, &gone);
		pthread_mutex_lock(&s->lock);
		for (size_t i = 0; i < count; i++)
			release(w->held[i]);
		if (gone)
			break;
		if (grid)
			next_instant(s, io_mono_ns());
		if (extra)
			s->served = ticket;
		if (!pass)
			continue;
		pass->nominal_ns = nominal;
		pass->ticket = s->served;
		deliver(s, pass);
	}
	if (gone)
		s->abandoned--;
	pthread_mutex_unlock(&s->lock);
	if (gone) { /* nobody waits for this thread */
		pthread_detach(pthread_self());
		free(w);
	}
	return NULL;
}

/* --- the other side -----------------------------------------------------------------------------
 */

/* Threads of ours take no signals: those are for the event loop. */
static int start_worker(struct sampler *s)
{
	struct worker *w = calloc(1, sizeof(*w));
	pthread_attr_t attr;
	sigset_t all, before;
	int rc;

	if (!w)
		return -ENOMEM;
	w->sampler = s;
	s->worker = w;
	s->seen_word = 0;
	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 256u << 10);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	rc = pthread_create(&w->thread, &attr, work, w);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	if (rc) {
		s->worker = NULL;
		free(w);
	}
	return -rc;
}

struct sampler *sampler_start(const char *root, int notify, struct err *err)
{
	struct sampler *s = calloc(1, sizeof(*s));
	pthread_condattr_t attr;
	int rc;

	if (!s || !(s->root = strdup(strcmp(root, "/") ? root : ""))) {
		err_set(err, ENOMEM, "sampler: out of memory");
		free(s);
		return NULL;
	}
	s->notify = notify;
	s->due_ns = INT64_MAX;
	s->extra_ns = -EXTRA_GAP_NS;
	s->rescan = true;
	s->rare_ns = s->scan_ns = -RARE_NS;
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&s->wake, &attr);
	pthread_condattr_destroy(&attr);
	rc = start_worker(s);
	if (rc == 0)
		return s;
	err_set(err, -rc, "sampler: no thread can be started: %s", strerror(-rc));
	sampler_stop(s);
	return NULL;
}

void sampler_stop(struct sampler *s)
{
	struct worker *w;
	char path[PATH_MAX];
	bool stuck;

	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	w = s->worker;
	pthread_cond_broadcast(&s->wake);
	pthread_mutex_unlock(&s->lock);
	/* A read that is under way gets as long as it would get otherwise. */
	while (w && pthread_tryjoin_np(w->thread, NULL) != 0) {
		struct timespec pause = { 0, SECOND / 100 };

		if (sampler_check(s, io_mono_ns(), path, sizeof(path)))
			break;
		nanosleep(&pause, NULL);
	}
	pthread_mutex_lock(&s->lock);
	stuck = s->abandoned > 0;
	pthread_mutex_unlock(&s->lock);
	if (stuck)
		return; /* a thread in the kernel still points to all this */
	free(w);
	for (size_t i = 0; i < s->watch_count; i++)
		release(s->watches[i]);
	for (size_t i = 0; i < s->queue_count; i++)
		sampler_pass_free(s->queue[i]);
	for (size_t i = 0; i < s->old_count; i++) {
		free(s->old[i]->list);
		free(s->old[i]);
	}
	if (s->series) {
		free(s->series->list);
		free(s->series);
	}
	source_list_free(&s->files);
	process_scan_free(&s->scan);
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->wake);
	free(s->root);
	free(s);
}

void sampler_interval(struct sampler *s, int64_t ns)
{
	pthread_mutex_lock(&s->lock);
	if (ns != s->interval_ns) {
		int64_t now = io_mono_ns();

		/* On multiples of the interval: steps that come and go don't put it off for others.
		 */
		s->interval_ns = ns;
		s->nominal_ns = ns ? now / ns * ns : 0;
		next_instant(s, now);
		pthread_cond_broadcast(&s->wake);
	}
	pthread_mutex_unlock(&s->lock);
}

uint64_t sampler_request(struct sampler *s)
{
	uint64_t ticket;

	pthread_mutex_lock(&s->lock);
	ticket = ++s->requested;
	pthread_cond_broadcast(&s->wake);
	pthread_mutex_unlock(&s->lock);
	return ticket;
}

void sampler_rescan(struct sampler *s)
{
	pthread_mutex_lock(&s->lock);
	s->rescan = true;
	pthread_cond_broadcast(&s->wake);
	pthread_mutex_unlock(&s->lock);
}

int sampler_watch(struct sampler *s, uint64_t key, pid_t stepd, uint32_t job, uint32_t step)
{
	struct watch *watch = calloc(1, sizeof(*watch));
	int rc = 0;

	if (watch)
		watch->processes = processes_new(stepd, job, step);
	if (!watch || !watch->processes) {
		free(watch);
		return -ENOMEM;
	}
	watch->key = key;
	watch->users = 1;
	pthread_mutex_lock(&s->lock);
	if (s->watch_count < WATCHES_MAX)
		s->watches[s->watch_count++] = watch;
	else
		rc = -ENOMEM;
	if (rc < 0)
		release(watch);
	pthread_mutex_unlock(&s->lock);
	return rc;
}

void sampler_adopt_all(struct sampler *s)
{
	atomic_store(&s->adopt_all, true);
}

void sampler_task(struct sampler *s, uint64_t key, pid_t pid)
{
	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < s->watch_count; i++) {
		struct watch *watch = s->watches[i];

		if (watch->key == key && watch->task_count < TASKS_PENDING)
			watch->tasks[watch->task_count++] = pid;
	}
	pthread_mutex_unlock(&s->lock);
}

void sampler_unwatch(struct sampler *s, uint64_t key)
{
	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < s->watch_count; i++)
		if (s->watches[i]->key == key) {
			release(s->watches[i]);
			s->watches[i] = s->watches[--s->watch_count];
			break;
		}
	pthread_mutex_unlock(&s->lock);
}

struct sampler_pass *sampler_take(struct sampler *s)
{
	struct sampler_pass *pass = NULL;

	pthread_mutex_lock(&s->lock);
	if (s->queue_count > 0) {
		pass = s->queue[0];
		s->queue_count--;
		memmove(s->queue, s->queue + 1, s->queue_count * sizeof(s->queue[0]));
	}
	pthread_mutex_unlock(&s->lock);
	return pass;
}

/*
 * With the lock held. Once the word is exchanged the worker can't go on before hand_back() has the
 * lock, so that what it points to is still there.
 */
static bool abandon(struct sampler *s, struct worker *w, uint64_t word)
{
	const struct hazard *hazard;

	if (!atomic_compare_exchange_strong(&w->word, &word,
					    (word & ~(uint64_t)READING) | ABANDONED))
		return false;
	hazard = atomic_load(&w->hazard);
	snprintf(s->hung_path, sizeof(s->hung_path), "%s", hazard->path);
	atomic_store(hazard->hung, true);
	s->hung_count++;
	s->abandoned++;
	s->rescan = true; /* it may have been in the middle of one */
	s->worker = NULL;
	return true;
}

bool sampler_check(struct sampler *s, int64_t mono_ns, char *path, size_t size)
{
	struct worker *w;
	bool found = false;

	pthread_mutex_lock(&s->lock);
	w = s->worker;
	if (w) {
		uint64_t word = atomic_load(&w->word);

		if (word != s->seen_word || !(word & READING)) {
			s->seen_ns = mono_ns;
			s->seen_checks = 0;
		} else if (++s->seen_checks >= HANG_CHECKS && mono_ns - s->seen_ns > HANG_NS) {
			found = abandon(s, w, word);
		}
		s->seen_word = word;
	}
	if (found)
		snprintf(path, size, "%s", s->hung_path);
	if (!s->worker && s->abandoned < ABANDONED_MAX && !s->stop)
		start_worker(s); /* if no thread can be had: again at the next check */
	pthread_mutex_unlock(&s->lock);
	return found;
}

bool sampler_hung(struct sampler *s, char *path, size_t size)
{
	bool hung;

	pthread_mutex_lock(&s->lock);
	hung = s->hung_count > 0;
	if (hung)
		snprintf(path, size, "%s", s->hung_path);
	pthread_mutex_unlock(&s->lock);
	return hung;
}
