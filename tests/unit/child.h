/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * child.h - work that may end its process, done by a child of the test.
 *
 * Fuzz targets and fault injection look for crashes, aborts and endless loops: in a child these end
 * one test and not the program, and what the child was at is in memory that both share.
 */
#ifndef FABRIC_CHILD_H
#define FABRIC_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILD_AT 512

/*
 * Does work(arg, at) in a child, which has at most that many seconds; at is CHILD_AT bytes, in
 * which work keeps what it is at. True when work came back; else why says how the child ended, and
 * at what.
 */
static inline bool child_does(void (*work)(void *arg, char *at), void *arg, unsigned int seconds,
			      char why[CHILD_AT + 64])
{
	char *at = mmap(NULL, CHILD_AT, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	static const int signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS };
	int status = -1;
	pid_t pid;

	if (at == MAP_FAILED)
		return false;
	fflush(NULL); /* else both print it */
	pid = fork();
	if (pid == 0) {
		/* cmocka would catch both and go on with the next test, here */
		for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
			signal(signals[i], SIG_DFL);
		setenv("CMOCKA_TEST_ABORT", "1", 1);
		alarm(seconds);
		work(arg, at);
		exit(0); /* leaks are looked for */
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		status = -1;
	snprintf(why, CHILD_AT + 64, "%s %d at %s", WIFSIGNALED(status) ? "signal" : "exit",
		 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
		 at[0] ? at : "its start");
	munmap(at, CHILD_AT);
	return status == 0;
}

#endif
