/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * overhear.c - see overhear.h.
 *
 * Only where libibnetdisc is called: it has no other way to tell of what went wrong, and it can
 * take minutes without a sign of life. The program has one thread else, so that nobody but the
 * library writes to descriptor 2 meanwhile.
 */
#include "overhear.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "io.h"

#define SAID_MAX (1u << 20)

struct overhear {
	const char *what;
	int terminal, said; /* descriptors */
	bool shows, done;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t ended;
};

static void *show(void *data)
{
	struct overhear *o = data;
	struct timespec next;
	long seconds = 0;

	clock_gettime(CLOCK_REALTIME, &next);
	pthread_mutex_lock(&o->lock);
	while (!o->done) {
		next.tv_sec++;
		while (!o->done && pthread_cond_timedwait(&o->ended, &o->lock, &next) == 0)
			;
		if (!o->done)
			dprintf(o->terminal, "\r%s, %ld s", o->what, ++seconds);
	}
	pthread_mutex_unlock(&o->lock);
	if (seconds)
		dprintf(o->terminal, "\r\033[K");
	return NULL;
}

struct overhear *overhear_begin(const char *what)
{
	struct overhear *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	o->what = what;
	fflush(stderr);
	o->said = memfd_create("stderr", MFD_CLOEXEC);
	o->terminal = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	if (o->said < 0 || o->terminal < 0 || dup2(o->said, STDERR_FILENO) < 0) {
		close(o->said);
		close(o->terminal);
		free(o);
		return NULL;
	}
	pthread_mutex_init(&o->lock, NULL);
	pthread_cond_init(&o->ended, NULL);
	o->shows = isatty(o->terminal) && pthread_create(&o->thread, NULL, show, o) == 0;
	return o;
}

static char *read_said(int fd)
{
	char *text = NULL;
	size_t len;

	if (lseek(fd, 0, SEEK_END) > (off_t)SAID_MAX && ftruncate(fd, SAID_MAX) < 0)
		return strdup("");
	if (lseek(fd, 0, SEEK_SET) < 0 || io_read_fd(fd, "stderr", SAID_MAX, &text, &len, NULL) < 0)
		return strdup("");
	return text;
}

char *overhear_end(struct overhear *o)
{
	char *text;

	if (!o)
		return strdup("");
	fflush(stderr);
	dup2(o->terminal, STDERR_FILENO);
	if (o->shows) {
		pthread_mutex_lock(&o->lock);
		o->done = true;
		pthread_cond_signal(&o->ended);
		pthread_mutex_unlock(&o->lock);
		pthread_join(o->thread, NULL);
	}
	text = read_said(o->said);
	pthread_mutex_destroy(&o->lock);
	pthread_cond_destroy(&o->ended);
	close(o->said);
	close(o->terminal);
	free(o);
	return text;
}
