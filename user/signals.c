/* SPDX-License-Identifier: MIT */
/* signals: see signals.h. */
#include <errno.h>
#include <stdbool.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "signals.h"

static const int changed[SIGNALS_CHANGED] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ};

/* Who ignores it gets an error from write() instead. */
static bool of_write(int signal)
{
	return signal == SIGPIPE || signal == SIGXFSZ;
}

static bool ignored(const struct signals *signals, unsigned i)
{
	return signals->actions[i].sa_handler == SIG_IGN;
}

/* Those that end a recording. */
static sigset_t ending(const struct signals *signals)
{
	sigset_t set;

	sigemptyset(&set);
	for (unsigned i = 0; i < SIGNALS_CHANGED; i++)
		if (!of_write(changed[i]) && !(changed[i] == SIGHUP && ignored(signals, i)))
			sigaddset(&set, changed[i]);
	return set;
}

int signals_take(struct signals *signals, int also)
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

void signals_let_through(const struct signals *signals)
{
	sigset_t set = ending(signals);

	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

void signals_give_back(const struct signals *signals)
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
