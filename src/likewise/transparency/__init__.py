"""What makes a log one that others can hold us to: Merkle trees (RFC 6962) and signed notes (C2SP).

``merkle`` hashes and proves, ``notes`` signs and checks. The service writes them, the client checks them; the checker
for outsiders (``likewise.service.proof.signed_log``) has code of its own.
"""
