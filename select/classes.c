/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * classes.c - see classes.h.
 *
 * The idea of compact placement in stock Slurm: topology/tree already looks for few leaf switches,
 * but takes what is free at this moment. --switches=N@TIME makes the job wait for N of them, so the
 * idea is to know the N that a user can't know: the fewest units that hold that many nodes. It comes
 * from fabric.json, which counts every host with a name: where some of them are no nodes of Slurm's,
 * N can be too small, and a job then waits for as long as its class lets it.
 */
#include "classes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

#define NS_PER_S 1000000000

/* How slurmctld names the option of our plugin to job_submit plugins, in every release. */
#define OPTION_PREFIX "_SLURM_SPANK_OPTION_fabric_fabric="

/* Slurm's default of max_switch_wait (slurm.conf(5)). */
#define DEFAULT_MAX_WAIT_S 300

static const struct {
	const char *name;
	unsigned int bit;
} modifiers[] = {
	{ "strict", CLASS_STRICT },
	{ "healthy", CLASS_HEALTHY },
	{ "rank", CLASS_RANK },
};

#define MODIFIERS (sizeof(modifiers) / sizeof(modifiers[0]))

static int refuse(const char *text, struct err *err)
{
	char shown[64];

	return err_set(
		err, EINVAL,
		"--fabric=%s: accepted are a class (1 to %d of a-z, 0-9 and \"-\") and behind "
		"it \",strict\", \",healthy\", \",rank\", \",prefer=MINUTES\" (1 to %d), each "
		"once; or \"" CLASS_OFF "\" alone",
		text_printable(text, shown, sizeof(shown)), CLASS_NAME_MAX, CLASS_PREFER_MAX);
}

/* One modifier; false when it is none or is there twice. */
static bool modifier_parse(const char *word, struct class_wish *wish)
{
	static const char prefer[] = "prefer=";
	uint64_t minutes;

	for (size_t i = 0; i < MODIFIERS; i++)
		if (!strcmp(word, modifiers[i].name)) {
			if (wish->modifiers & modifiers[i].bit)
				return false;
			wish->modifiers |= modifiers[i].bit;
			return true;
		}
	if (strncmp(word, prefer, sizeof(prefer) - 1) || wish->prefer_min)
		return false;
	if (!u64_parse(word + sizeof(prefer) - 1, CLASS_PREFER_MAX, &minutes) || minutes == 0)
		return false;
	wish->prefer_min = (uint32_t)minutes;
	return true;
}

/* Copies the word at *text (up to a comma) and moves behind the comma, or to NULL at the end. */
static bool next_word(const char **text, char *word, size_t size)
{
	size_t len = strcspn(*text, ",");

	if (len >= size)
		return false;
	memcpy(word, *text, len);
	word[len] = '\0';
	*text = (*text)[len] ? *text + len + 1 : NULL;
	return true;
}

int class_parse(const char *text, struct class_wish *wish, struct err *err)
{
	const char *rest = text;
	char word[CLASS_NAME_MAX + 1];

	memset(wish, 0, sizeof(*wish));
	if (!next_word(&rest, word, sizeof(word)) || !word_valid(word, CLASS_NAME_MAX))
		return refuse(text, err);
	strcpy(wish->name, word);
	if (rest && !strcmp(wish->name, CLASS_OFF))
		return refuse(text, err);
	while (rest)
		if (!next_word(&rest, word, sizeof(word)) || !modifier_parse(word, wish))
			return refuse(text, err);
	return 0;
}

const char *class_find(const char *const *env, size_t count)
{
	const size_t len = sizeof(OPTION_PREFIX) - 1;

	while (count--)
		if (env[count] && !strncmp(env[count], OPTION_PREFIX, len))
			return env[count] + len;
	return NULL;
}

__attribute__((format(printf, 2, 3))) static void note(struct class_plan *plan, const char *fmt,
						       ...)
{
	size_t used = strlen(plan->note);
	va_list ap;

	if (used && used + 2 < sizeof(plan->note)) {
		strcpy(plan->note + used, "; ");
		used += 2;
	}
	va_start(ap, fmt);
	vsnprintf(plan->note + used, sizeof(plan->note) - used, fmt, ap);
	va_end(ap);
}

/* Says which modifiers stock Slurm can't be asked for. */
static void note_modifiers(const struct class_wish *wish, struct class_plan *plan)
{
	for (size_t i = 0; i < MODIFIERS; i++)
		if (wish->modifiers & modifiers[i].bit)
			note(plan, "\"%s\" has no effect with class %s", modifiers[i].name,
			     wish->name);
}

/* How long to wait, and a word to the user when it is less than asked for. */
static uint32_t decide_wait(const struct class_wish *wish, int64_t wait_ns, uint32_t max_wait_s,
			    struct class_plan *plan)
{
	uint64_t wait_s = wish->prefer_min ? wish->prefer_min * UINT64_C(60)
					   : (uint64_t)(wait_ns > 0 ? wait_ns : 0) / NS_PER_S;

	if (wait_s <= max_wait_s)
		return (uint32_t)wait_s;
	note(plan, "the job waits at most %u s for its placement, not %llu s (max_switch_wait)",
	     max_wait_s, (unsigned long long)wait_s);
	return max_wait_s;
}

void class_decide(const struct class_wish *wish, int64_t wait_ns, const struct class_job *job,
		  uint32_t max_wait_s, struct class_plan *plan)
{
	memset(plan, 0, sizeof(*plan));
	note_modifiers(wish, plan);
	if (job->own) {
		note(plan, "%s decides the placement, class %s adds nothing to it", job->own,
		     wish->name);
		return;
	}
	if (job->nodes == 0) {
		note(plan, "class %s needs a fixed number of nodes (-N) and does nothing without",
		     wish->name);
		return;
	}
	if (job->nodes == 1 || !job->fabric)
		return;
	if (job->fewest == 0) {
		note(plan, "no connected part of the fabric has %u nodes: class %s does nothing",
		     job->nodes, wish->name);
		return;
	}
	plan->switches = job->fewest;
	plan->wait_s = decide_wait(wish, wait_ns, max_wait_s, plan);
	plan->place = plan->wait_s > 0;
}

uint32_t class_max_wait(const char *sched_params)
{
	static const char key[] = "max_switch_wait=";
	const char *word = sched_params;

	while (word && *word) {
		size_t len = strcspn(word, ",");
		char number[16];
		uint64_t wait_s;

		if (len > sizeof(key) - 1 && len - (sizeof(key) - 1) < sizeof(number) &&
		    !strncmp(word, key, sizeof(key) - 1)) {
			snprintf(number, sizeof(number), "%.*s", (int)(len - (sizeof(key) - 1)),
				 word + sizeof(key) - 1);
			if (u64_parse(number, UINT32_MAX - 2, &wait_s))
				return (uint32_t)wait_s;
		}
		word += len + (word[len] == ',');
	}
	return DEFAULT_MAX_WAIT_S;
}
