"""The service: the same learners behind a log that loses nothing and that an outsider can check.

Read the folders in this order; each answers a question:

* ``stream``: what is a round, and what may become of it? Pure: no clock, no disk, no HTTP, no threads;
* ``log``: how is it kept on disk, so that nothing is lost or changed, and people can be erased?
* ``live``: what is in memory, and how does a command become a durable event?
* ``engine``: what can be asked of the service, in Python? (``asides`` checks what people send.)
* ``proof``: how does an outsider check an export?
* ``accounts``: who may do what?
* ``projections``: what are the pages drawn from?
* ``jobs``: what runs in the background?
* ``running``: what belongs to a running service, and who moves its clock?
* ``api``: how do programs ask, over HTTP?
* ``pages``: what do reviewers and the team see?
* ``run``: how is it started, backed up and shown in a demo?

On the ground floor: ``refusals`` (what is refused, and with which HTTP status?), ``redaction`` (what may the service's
own log say about an error?), ``canonical`` (how is JSON written and hashed?), ``monitoring`` (what do operators
watch?), ``configuration`` (how is a service set up?). Needs the extra ``service``.
"""
