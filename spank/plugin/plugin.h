/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plugin.h - fabric.so, the SPANK plugin: what its files share.
 *
 * plugin.c has the hooks that Slurm looks up and hands over by context; options.c the three options;
 * syntax.c what their values and the plugstack arguments may be (pure); local.c srun, sbatch and
 * salloc; remote.c slurmstepd; task.c the child of slurmstepd that becomes a task. There is one
 * struct plugin in a process, because the callbacks of SPANK carry none.
 */
#ifndef FABRIC_PLUGIN_H
#define FABRIC_PLUGIN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <slurm/spank.h>

#include "err.h"
#include "packet.h"

#define PLUGIN_PATH 512
#define PLUGIN_ENV_MAX (64u << 10) /* size of an env file */

enum plugin_option { OPTION_CLASS, OPTION_SAMPLE, OPTION_ENV, OPTION_COUNT };

/* The plugstack line, or its defaults. */
struct plugin_config {
	char run[PLUGIN_PATH]; /* %n replaced */
	char env[PACKET_WORD]; /* what --fabric-env=default stands for */
};

/* What our hooks took, in memory that slurmstepd shares with its tasks' children. */
struct plugin_clock {
	_Atomic uint64_t stepd_ns; /* all hooks in slurmstepd itself, added up */
	_Atomic uint64_t task_ns;  /* the longest in a task's child: they run side by side */
	_Atomic uint64_t cpu_ns;   /* CPU time of all of them: what is left is waiting for a CPU */
};

/* When a hook began, by the clock and by the thread's CPU time. */
struct plugin_instant {
	int64_t mono_ns, cpu_ns;
};

struct plugin {
	bool off; /* the host's off switch is set */
	struct plugin_config config;
	char option[OPTION_COUNT][PACKET_WORD]; /* values given; "" not given */

	/* slurmstepd */
	pid_t pid;	    /* of the slurmstepd that runs the step; 0: we do nothing here */
	struct packet step; /* step-begin, filled up to step-end */
	int wanted;	    /* ENV_ bits */
	int sock;	    /* to sfabricd; -1 */
	bool lost;	    /* a packet was, and it is in the log */
	size_t env_len;	    /* of env_text; 0: none */
	char env_text[PLUGIN_ENV_MAX];
	struct plugin_clock *clock;
};

/* ---- syntax.c: pure, no call into Slurm ---- */

#define PLUGIN_RUN_DEFAULT "/run/slurm-fabric"

/* Whether value is one for the option; -EINVAL with a sentence that says what is accepted. */
int plugin_option_check(enum plugin_option option, const char *value, struct err *err);

/*
 * The plugstack arguments. node: for %n. -EINVAL with a sentence for the first bad one; the others
 * are in config then, and the bad one's default.
 */
int plugin_config_parse(struct plugin_config *config, int argc, char **argv, const char *node,
			struct err *err);

/* How many numbers "0-2,5" has; PACKET_UNKNOWN when it is no such list. */
uint32_t plugin_list_count(const char *list);

/* Whether text is a list of GPU indexes that a packet carries. */
bool plugin_gpus_valid(const char *text);

/* ---- options.c ---- */

extern const char *const plugin_option_names[OPTION_COUNT];

/* Registers the options; their values go into p, which must stay. */
void plugin_options_register(spank_t spank, struct plugin *p);

/* ---- local.c: srun, sbatch, salloc ---- */

/* In an allocation: whether --fabric=value is what the job was submitted with. */
int plugin_local_class(const char *value, struct err *err);
/* Hands the options of an allocation that srun makes on to the sruns inside it. */
void plugin_local_post_opt(const struct plugin *p);

/* ---- remote.c: slurmstepd ---- */

void plugin_remote_begin(spank_t spank, struct plugin *p);
void plugin_remote_task(spank_t spank, struct plugin *p);
void plugin_remote_task_exit(spank_t spank, struct plugin *p);
void plugin_remote_end(struct plugin *p, struct plugin_instant hook_began);

/* ---- task.c: between fork and exec, as the user ---- */

void plugin_task_env(spank_t spank, const struct plugin *p);

struct plugin_instant plugin_now(void);

#endif
