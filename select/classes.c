/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * classes.c - see classes.h.
 *
 * The idea of compact placement in stock Slurm: topology/tree already looks for few leaf switches,
 * but takes what is free at this moment. --switches=N@TIME makes the job wait for N of them, so the
 * idea is to know the N that a user can't know: the fewest units that hold that many nodes of the
 * job's partition. What has to hold for as long as the job waits, strict, is asked for by features
 * of nodes, where they have them: one of the units, or of the pods, that have room.
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
static void note_modifiers(const struct class_wish *wish, const struct conf_class *class,
			   struct class_plan *plan)
{
	bool kept = class->kind == KIND_COMPACT || class->kind == KIND_SAME_LEAF ||
		    class->kind == KIND_SAME_POD;

	for (size_t i = 0; i < MODIFIERS; i++)
		if ((wish->modifiers & modifiers[i].bit) &&
		    !(kept && modifiers[i].bit == CLASS_STRICT))
			note(plan, "\"%s\" has no effect with class %s", modifiers[i].name,
			     wish->name);
}

/* How long to wait, and a word to the user when it is less than asked for. */
static uint32_t decide_wait(const struct class_wish *wish, const struct conf_class *class,
			    uint32_t max_wait_s, struct class_plan *plan)
{
	uint64_t wait_s = wish->prefer_min
				  ? wish->prefer_min * UINT64_C(60)
				  : (uint64_t)(class->wait_ns > 0 ? class->wait_ns : 0) / NS_PER_S;

	if (wish->modifiers & CLASS_STRICT) {
		note(plan, "\"strict\" holds for %u s (max_switch_wait)", max_wait_s);
		return max_wait_s;
	}
	if (wait_s <= max_wait_s)
		return (uint32_t)wait_s;
	note(plan, "the job waits at most %u s for its placement, not %llu s (max_switch_wait)",
	     max_wait_s, (unsigned long long)wait_s);
	return max_wait_s;
}

static void ask_switches(const struct class_wish *wish, const struct conf_class *class,
			 uint32_t switches, uint32_t max_wait_s, struct class_plan *plan)
{
	plan->wait_s = decide_wait(wish, class, max_wait_s, plan);
	plan->switches = plan->wait_s ? switches : 0;
}

/* One unit, or one pod, which the fabric has. */
static void ask_one(const struct class_wish *wish, const struct conf_class *class,
		    const struct class_job *job, uint32_t max_wait_s, struct class_plan *plan)
{
	bool leaf = class->kind == KIND_SAME_LEAF;

	if (wish->modifiers & CLASS_STRICT) {
		plan->features = leaf ? job->unit_features : job->pod_features;
		if (plan->features)
			return;
	}
	if (!leaf)
		note(plan, "Slurm looks for few units, and at pods only with \"strict\" and where "
			   "nodes have features");
	ask_switches(wish, class, leaf ? 1 : job->room.fewest_units, max_wait_s, plan);
}

/* A part that the fabric has no room for: what to do instead, or why it can't be done. */
static int no_room(const struct class_wish *wish, const char *what, uint32_t wanted, uint32_t has,
		   struct class_plan *plan)
{
	bool strict = wish->modifiers & CLASS_STRICT;

	note(plan, "no %s has %u nodes, the largest has %u%s", what, wanted, has,
	     strict ? ": ask for fewer, or without \"strict\""
		    : ": as close together as possible instead");
	return strict ? -ENOSPC : 0;
}

static int place(const struct class_wish *wish, const struct conf_class *class,
		 const struct class_job *job, uint32_t max_wait_s, struct class_plan *plan)
{
	int rc = 0;

	if (class->kind == KIND_SPREAD) {
		plan->spread = true;
		return 0;
	}
	if (job->room.fewest_units == 0) {
		note(plan, "no connected part of the fabric has %u nodes: class %s does nothing",
		     job->nodes, wish->name);
		return 0;
	}
	if (class->kind == KIND_SEGMENTS && job->nodes % class->segment) {
		note(plan, "class %s is for nodes in parts of %u: ask for a multiple of it (-N)",
		     wish->name, class->segment);
		return -ENOSPC;
	}
	if (class->kind == KIND_SEGMENTS && class->segment > job->room.largest_unit)
		rc = no_room(wish, "unit", class->segment, job->room.largest_unit, plan);
	else if (class->kind == KIND_SEGMENTS && job->segments)
		return plan->segment = class->segment, 0;
	else if (class->kind == KIND_SEGMENTS)
		note(plan, "Slurm knows parts of jobs with topology/block alone: as close together "
			   "as possible instead");
	else if (class->kind == KIND_SAME_LEAF && job->nodes > job->room.largest_unit)
		rc = no_room(wish, "unit", job->nodes, job->room.largest_unit, plan);
	else if (class->kind == KIND_SAME_POD && job->nodes > job->room.largest_pod)
		rc = no_room(wish, "pod", job->nodes, job->room.largest_pod, plan);
	else if (class->kind != KIND_COMPACT)
		return ask_one(wish, class, job, max_wait_s, plan), 0;
	if (rc == 0)
		ask_switches(wish, class, job->room.fewest_units, max_wait_s, plan);
	return rc;
}

int class_decide(const struct class_wish *wish, const struct conf_class *class,
		 const struct class_job *job, uint32_t max_wait_s, struct class_plan *plan)
{
	memset(plan, 0, sizeof(*plan));
	note_modifiers(wish, class, plan);
	if (class->kind == KIND_ANY)
		return 0;
	if (job->own)
		note(plan, "%s decides the placement, class %s adds nothing to it", job->own,
		     wish->name);
	else if (job->nodes == 0)
		note(plan, "class %s needs a fixed number of nodes (-N) and does nothing without",
		     wish->name);
	else if (job->nodes > 1 && job->fabric)
		return place(wish, class, job, max_wait_s, plan);
	return 0;
}

/* ---- limits ---- */

static bool in_list(char *const *list, size_t count, const char *word, size_t len)
{
	for (size_t i = 0; i < count; i++)
		if (strlen(list[i]) == len && !strncmp(list[i], word, len))
			return true;
	return false;
}

/* "gpu, big" */
static const char *join(char *const *list, size_t count, char *text, size_t size)
{
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < count && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "", list[i]);
	return text;
}

/* Each word of text has to be in the list; nothing said is in none. */
static int check_list(const struct conf_class *class, char *const *list, size_t count,
		      const char *text, const char *what, const char *option, struct err *err)
{
	char names[160], shown[64];

	if (count == 0)
		return 0;
	if (!text || !*text)
		return err_set(err, EPERM, "--fabric=%s is for %s %s: name it (%s)", class->name,
			       what, join(list, count, names, sizeof(names)), option);
	for (const char *p = text; *p;) {
		size_t len = strcspn(p, ",");

		if (!in_list(list, count, p, len))
			return err_set(err, EPERM, "--fabric=%s is for %s %s, not %s", class->name,
				       what, join(list, count, names, sizeof(names)),
				       text_printable(text, shown, sizeof(shown)));
		p += len + (p[len] == ',');
	}
	return 0;
}

int class_allowed(const struct conf_class *class, uint32_t nodes, const char *partitions,
		  const char *account, struct err *err)
{
	int rc = check_list(class, class->partitions, class->partition_count, partitions,
			    "partition", "-p", err);

	rc = rc ? rc
		: check_list(class, class->accounts, class->account_count, account, "account", "-A",
			     err);
	if (rc == 0 && class->max_nodes && nodes > class->max_nodes)
		rc = err_set(err, EPERM, "--fabric=%s is for jobs of at most %u nodes", class->name,
			     class->max_nodes);
	return rc;
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
