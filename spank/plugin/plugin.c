/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plugin.c - fabric.so: the hooks that Slurm looks up. Each hands over by context.
 *
 * The plugin lives in other people's processes. In srun, sbatch and salloc it may refuse an option;
 * in slurmstepd it may do nothing but succeed: every hook there returns 0 whatever happened, starts
 * no thread and no process, and waits for nobody. It links libc only; Slurm's symbols are those of
 * the process that loaded it. The time spent in our hooks is measured and told in step-end.
 */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* What Slurm looks up is visible; all else is not (fabric.map says it again to the linker). */
#pragma GCC visibility push(default)
#include "plugin.h"

SPANK_PLUGIN(fabric, 1)
#pragma GCC visibility pop

#define OFF_SWITCH SYSCONFDIR "/slurm-fabric/off"

static struct plugin_clock own_clock;
static struct plugin plugin = { .sock = -1, .clock = &own_clock };

static int64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

struct plugin_instant plugin_now(void)
{
	return (struct plugin_instant){ clock_ns(CLOCK_MONOTONIC), clock_ns(CLOCK_THREAD_CPUTIME_ID) };
}

static void leave(struct plugin_instant began)
{
	struct plugin_instant now = plugin_now();

	atomic_fetch_add(&plugin.clock->stepd_ns, (uint64_t)(now.mono_ns - began.mono_ns));
	atomic_fetch_add(&plugin.clock->cpu_ns, (uint64_t)(now.cpu_ns - began.cpu_ns));
}

/* The same in a task's child. */
static void leave_task(struct plugin_instant began)
{
	struct plugin_instant now = plugin_now();
	uint64_t took_ns = (uint64_t)(now.mono_ns - began.mono_ns);
	uint64_t longest_ns = atomic_load(&plugin.clock->task_ns);

	while (took_ns > longest_ns &&
	       !atomic_compare_exchange_weak(&plugin.clock->task_ns, &longest_ns, took_ns))
		;
	atomic_fetch_add(&plugin.clock->cpu_ns, (uint64_t)(now.cpu_ns - began.cpu_ns));
}

/* Whether this is a slurmstepd in which init_post_opt found something to do. */
static bool active(void)
{
	return spank_context() == S_CTX_REMOTE && plugin.pid != 0;
}

int slurm_spank_init(spank_t spank, int ac, char *argv[])
{
	struct plugin_instant began = plugin_now();
	spank_context_t context = spank_context();
	struct err err;

	if (context != S_CTX_REMOTE && context != S_CTX_LOCAL && context != S_CTX_ALLOCATOR)
		return 0;
	plugin.off = access(OFF_SWITCH, F_OK) == 0;
	plugin_options_register(spank, &plugin); /* scripts with our options work even when off */
	if (plugin_config_parse(&plugin.config, ac, argv, getenv("SLURMD_NODENAME"), &err) < 0) {
		if (context == S_CTX_REMOTE)
			slurm_info("fabric: %s", err.text);
		else
			slurm_error("fabric: %s", err.text);
	}
	leave(began);
	return 0;
}

int slurm_spank_init_post_opt(spank_t spank, int ac, char *argv[])
{
	struct plugin_instant began = plugin_now();

	(void)ac;
	(void)argv;
	if (plugin.off)
		return 0;
	switch (spank_context()) {
	case S_CTX_REMOTE:
		plugin_remote_begin(spank, &plugin);
		break;
	case S_CTX_LOCAL:
	case S_CTX_ALLOCATOR:
		plugin_local_post_opt(&plugin);
		break;
	default:
		break;
	}
	leave(began);
	return 0;
}

int slurm_spank_task_init(spank_t spank, int ac, char *argv[])
{
	struct plugin_instant began = plugin_now();

	(void)ac;
	(void)argv;
	if (active())
		plugin_task_env(spank, &plugin);
	leave_task(began);
	return 0;
}

int slurm_spank_task_post_fork(spank_t spank, int ac, char *argv[])
{
	struct plugin_instant began = plugin_now();

	(void)ac;
	(void)argv;
	if (active())
		plugin_remote_task(spank, &plugin);
	leave(began);
	return 0;
}

int slurm_spank_task_exit(spank_t spank, int ac, char *argv[])
{
	struct plugin_instant began = plugin_now();

	(void)ac;
	(void)argv;
	if (active())
		plugin_remote_task_exit(spank, &plugin);
	leave(began);
	return 0;
}

int slurm_spank_exit(spank_t spank, int ac, char *argv[])
{
	struct plugin_instant began = plugin_now();

	(void)spank;
	(void)ac;
	(void)argv;
	if (active())
		plugin_remote_end(&plugin, began);
	return 0;
}
