/* SPDX-License-Identifier: MIT */
/* signals: see signals.h. */
#include <errno.h>
#include <stdint.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "user/host/clock.h"
#include "user/host/signals.h"

#define REPEAT_NS 250000000 /* so late comes the second of a pair at most */

static const int changed[SIGNALS_CHANGED] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ};

/* If it is ignored, write() returns an error instead. */
static bool of_write(int signal)
{
	return signal == SIGPIPE || signal == SIGXFSZ;
}

static bool ignored(const struct signals *signals, unsigned i)
{
	return signals->actions[i].sa_handler == SIG_IGN;
}

/* The signals that end a recording. */
static sigset_t ending(const struct signals *signals)
{
	sigset_t set;

	sigemptyset(&set);
	for (unsigned i = 0; i < SIGNALS_CHANGED; i++)
		if (!of_write(changed[i]) && !(changed[i] == SIGHUP && ignored(signals, i)))
			sigaddset(&set, changed[i]);
	return set;
}

int signals_redirect(struct signals *signals, int also)
{
	sigset_t set;
	int err;

	for (unsigned i = 0; i < SIGNALS_CHANGED; i++)
		sigaction(changed[i], NULL, &signals->actions[i]);
	set = ending(signals);
	if (also)
		sigaddset(&set, also);
	signals->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals->fd < 0)
		return -errno;
	if (sigprocmask(SIG_BLOCK, &set, &signals->mask)) {
		err = -errno;
		signals_close(signals);
		return err;
	}
	for (unsigned i = 0; i < SIGNALS_CHANGED; i++) {
		if (of_write(changed[i]))
			signal(changed[i], SIG_IGN);
		else if (sigismember(&set, changed[i]) == 1)
			signal(changed[i], SIG_DFL);
	}
	return 0;
}

bool signals_repeated(int number, int code, pid_t from)
{
	static int first_number;
	static pid_t first_from;
	static uint64_t first_ns;

	if (first_number)
		return code <= 0 && number == first_number && from == first_from &&
		       clock_now() - first_ns < REPEAT_NS;
	first_number = number;
	first_from = from;
	first_ns = clock_now();
	return false;
}

static void end_at_once(int number, siginfo_t *info, void *context)
{
	(void)context;
	if (signals_repeated(number, info->si_code, info->si_pid))
		return;
	signal(number, SIG_DFL);
	raise(number); /* it comes when this function has returned */
}

void signals_let_through(const struct signals *signals)
{
	struct sigaction action = {.sa_sigaction = end_at_once,
				   .sa_flags = SA_SIGINFO | SA_RESTART};
	sigset_t set = ending(signals);

	for (unsigned i = 0; i < SIGNALS_CHANGED; i++)
		if (sigismember(&set, changed[i]) == 1)
			sigaction(changed[i], &action, NULL);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

void signals_hold(const struct signals *signals)
{
	sigset_t set = ending(signals);

	sigprocmask(SIG_BLOCK, &set, NULL);
}

void signals_restore(const struct signals *signals)
{
	for (unsigned i = 0; i < SIGNALS_CHANGED; i++)
		sigaction(changed[i], &signals->actions[i], NULL);
	sigprocmask(SIG_SETMASK, &signals->mask, NULL);
}

void signals_close(struct signals *signals)
{
	if (signals->fd >= 0)
		close(signals->fd);
	signals->fd = -1;
}
