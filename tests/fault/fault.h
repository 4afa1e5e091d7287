/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fault.h - what happens when the N-th allocation, or the N-th call into the kernel, fails.
 *
 * A piece of work is done again and again: with the first call failing, with the second, and so on
 * until a run ends without having met its fault; then the same with all calls behind the N-th
 * failing as well, and with reads and writes that move only a part. Nothing may crash, nothing may
 * leak, and what comes out is an error or as good as ever. SQLite is tested like this
 * (sqlite.org/testing.html).
 *
 * fault.c stands in front of libc for the whole process, so that also what json-c and SQLite
 * allocate for us is counted.
 */
#ifndef FABRIC_FAULT_H
#define FABRIC_FAULT_H

#include "unit.h"

/* A test: work does it once. Faults come between fault_on() and fault_off() only. */
struct fault_work {
	const char *name;
	void (*work)(void);
};

/* cmocka's test of the struct fault_work that is its state, in a child. */
void fault_test(void **state);

#define FAULT_WORK(function)                                                                       \
	{                                                                                          \
#function, fault_test, NULL, NULL, (void *)&(struct fault_work)                    \
		{                                                                                  \
#function, function                                                        \
		}                                                                                  \
	}

void fault_on(void); /* for the calling thread */
void fault_off(void);
void fault_everywhere(bool on); /* for all threads, instead */

/* Since the last fault_on(): a call failed, or moved a part only. */
bool fault_hit(void);
bool fault_hit_memory(void); /* an allocation did */

/* Takes text over: it has to be what it was the first time, which expected keeps. */
void fault_same(char *text, char **expected);

/*
 * Calls that a library (a part of its file's name) or a function makes, or that are made for it,
 * never fail.
 */
void fault_spare(const char *name);

/* Ends the test unless the condition holds. */
#define must(condition) ((condition) ? (void)0 : fault_broken(__FILE__, __LINE__, #condition))
_Noreturn void fault_broken(const char *file, int line, const char *condition);

/* An error that says what is wrong: for what gave nothing, or a negative errno. */
#define must_explain(err) must(fault_hit() && (err)->text[0])

/* A folder of this process, empty at the begin of each run. */
const char *fault_folder(void);

/* Looks at the files that are in and below it now, for the function below. */
void fault_look(void);

/* Calls each() for those whose name ends in with: how many there are. NULL: only counts. */
size_t fault_files(const char *with, void (*each)(const char *path));

#endif
