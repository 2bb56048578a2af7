"""Takes requests for faults, watches the link for their moments, and lets them happen."""

import asyncio
import os
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, replace
from typing import Any

from virtual_phone.faults.packets import StreamEvent
from virtual_phone.faults.relay import Relay, RelayReply
from virtual_phone.faults.request import UNDONE_BY, Fault, FaultRequest, FaultTrigger
from virtual_phone.phone import Phone
from virtual_phone.system.sensors import Sensors

_BOOTS = (Fault.REVIVE, Fault.RESET)


@dataclass(slots=True)
class _Waiting:
    request: FaultRequest
    begun: int = 0


class FaultScheduler:
    def __init__(self, phone: Phone, *, boot_s: float) -> None:
        self.phone = phone
        self.relay = Relay(on_seen=self._seen, on_reboot=self._reboot)
        self._boot_s = boot_s
        self._waiting: list[_Waiting] = []
        self._happened: list[str] = []
        self._later: set[asyncio.Task[None]] = set()
        self._rebooting = False

    def status(self) -> dict[str, Any]:
        state = "dead"
        if self.phone.alive:
            state = "frozen" if self.phone.frozen else "running"
        return {
            "state": state,
            "answers": self.relay.answer.value,
            "temperature_c": self.phone.body.temperature_c,
            "battery": self.phone.body.battery,
            "waiting": [f"{each.request.fault} at {each.request.moment}" for each in self._waiting],
            "happened": list(self._happened),
        }

    async def take(self, request: FaultRequest) -> None:
        if request.moment is not FaultTrigger.NOW:
            self._waiting.append(_Waiting(request))
            return
        if request.delay_s:
            self._start(self._happen_later(request))
            return
        self._happen(request)
        if request.fault in _BOOTS:
            await self.phone.answering()

    def listen(self) -> None:
        pipe = os.open(self.phone.requests, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        asyncio.get_running_loop().add_reader(pipe, self._handle_request, pipe)

    def _handle_request(self, pipe: int) -> None:
        if b"reboot" in os.read(pipe, 4096):
            self._happen(FaultRequest(fault=Fault.REBOOT))

    async def _seen(self, seen: StreamEvent) -> None:
        for waiting in list(self._waiting):
            request = waiting.request
            if request.moment is not seen.moment:
                continue
            waiting.begun += seen.begins
            if waiting.begun < request.nth or seen.bytes_moved < request.after_bytes:
                continue
            self._waiting.remove(waiting)
            if request.delay_s:
                self._start(self._happen_later(request))
            else:
                self._happen(request)

    async def _reboot(self) -> None:
        self._happen(FaultRequest(fault=Fault.REBOOT))

    def _happen(self, request: FaultRequest) -> None:
        self._effects()[request.fault](request.value or 0.0)
        if request.fault is not Fault.RESET:
            self._happened.append(f"{request.fault} at {request.moment}")
        if request.for_s is not None:
            undo = FaultRequest(fault=UNDONE_BY[request.fault], delay_s=request.for_s)
            self._start(self._happen_later(undo))

    async def _happen_later(self, request: FaultRequest) -> None:
        await asyncio.sleep(request.delay_s)
        self._happen(request)
        if request.fault in _BOOTS:
            await self.phone.answering()

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._later.add(task)
        task.add_done_callback(self._later.discard)

    def _effects(self) -> Mapping[Fault, Callable[[float], None]]:
        phone = self.phone
        return {
            Fault.KILL: lambda _: self._kill(RelayReply.PHONE),
            Fault.VANISH: lambda _: self._kill(RelayReply.NONE),
            Fault.REVIVE: lambda _: phone.boot(),
            Fault.FREEZE: lambda _: phone.freeze(),
            Fault.THAW: lambda _: phone.freeze(thaw=True),
            Fault.UNPLUG: lambda _: self._answer(RelayReply.NONE),
            Fault.REPLUG: lambda _: self._answer(RelayReply.PHONE),
            Fault.UNAUTHORIZED: lambda _: self._answer(RelayReply.STUB),
            Fault.AUTHORIZED: lambda _: self._answer(RelayReply.PHONE),
            Fault.MUTE: lambda _: phone.mute(True),
            Fault.UNMUTE: lambda _: phone.mute(False),
            Fault.DISK_FULL: lambda left_bytes: phone.fill(int(left_bytes)),
            Fault.DISK_FREE: lambda _: phone.unfill(),
            Fault.SLOW: lambda bits_per_s: phone.slow(int(bits_per_s)),
            Fault.FULL_SPEED: lambda _: phone.unslow(),
            Fault.HOT: self._warm,
            Fault.COOL: lambda _: self._warm(Sensors().temperature_c),
            Fault.BATTERY: lambda left: phone.show(replace(phone.body, battery=int(left))),
            Fault.REBOOT: lambda _: self._start(self._restart()),
            Fault.RESET: lambda _: self._reset(),
        }

    def _kill(self, answer: RelayReply) -> None:
        self.phone.end()
        self.relay.answer = answer
        self.relay.cut()

    def _warm(self, degrees: float) -> None:
        self.phone.show(replace(self.phone.body, temperature_c=degrees))

    def _answer(self, answer: RelayReply) -> None:
        if self.relay.answer is not answer:
            self.relay.answer = answer
            self.relay.cut()

    async def _restart(self) -> None:
        if self._rebooting:
            return
        self._rebooting = True
        try:
            self.phone.end()
            self.relay.cut()
            await asyncio.sleep(self._boot_s)
            self.phone.boot()
            await self.phone.answering()
        finally:
            self._rebooting = False

    def _reset(self) -> None:
        current = asyncio.current_task()
        for task in self._later:
            if task is not current:
                task.cancel()
        self._waiting.clear()
        self._happened.clear()
        phone = self.phone
        if phone.frozen:
            phone.freeze(thaw=True)
        phone.mute(False)
        phone.unfill()
        phone.unslow()
        phone.show(Sensors())
        self._answer(RelayReply.PHONE)
        phone.boot()
