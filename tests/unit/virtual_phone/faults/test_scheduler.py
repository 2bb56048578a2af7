import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, cast

from virtual_phone.faults.packets import StreamEvent
from virtual_phone.faults.relay import RelayReply
from virtual_phone.faults.request import FaultTrigger, make_request
from virtual_phone.faults.scheduler import FaultScheduler
from virtual_phone.phone import Phone
from virtual_phone.system.sensors import Sensors


class Body:
    def __init__(self) -> None:
        self.alive = True
        self.frozen = False
        self.body = Sensors()
        self.done: list[str] = []

    def show(self, body: Sensors) -> None:
        self.body = body

    def freeze(self, *, thaw: bool = False) -> None:
        self.frozen = not thaw

    def end(self) -> None:
        self.alive = False

    def boot(self) -> None:
        self.alive = True

    async def answering(self) -> None:
        self.done.append("answering")

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *values: self.done.append(f"{name}{values}")


def scene(act: Callable[[FaultScheduler, Body], Awaitable[None]]) -> None:
    phone = Body()

    async def run() -> None:
        await act(FaultScheduler(cast("Phone", phone), boot_s=0.0), phone)

    asyncio.run(run())


async def see(
    faults: FaultScheduler, moment: FaultTrigger, moved: int = 0, *, begins: bool = True
) -> None:
    event = StreamEvent(moment, moved, begins)
    await faults.relay.on_seen(event)


def happened(faults: FaultScheduler) -> Any:
    return faults.status()["happened"]


def test_a_fault_for_now_has_happened() -> None:
    async def act(faults: FaultScheduler, phone: Body) -> None:
        await faults.take(make_request("freeze"))
        await faults.take(make_request("hot", value=80.0))
        await faults.take(make_request("slow", value=9000.0))

        status = faults.status()
        assert (status["state"], status["temperature_c"]) == ("frozen", 80.0)
        assert status["happened"] == ["freeze at now", "hot at now", "slow at now"]
        assert phone.done == ["slow(9000,)"]

    scene(act)


def test_a_fault_waits_for_its_moment() -> None:
    async def act(faults: FaultScheduler, phone: Body) -> None:
        await faults.take(make_request("kill", moment="push", nth=2, after_bytes=100))
        await see(faults, FaultTrigger.PUSH, 500)
        await see(faults, FaultTrigger.PULL, 500)
        await see(faults, FaultTrigger.PUSH, 99)
        assert faults.status()["waiting"] == ["kill at push"]
        assert phone.alive

        await see(faults, FaultTrigger.PUSH, 100, begins=False)
        assert faults.status()["waiting"] == []
        assert faults.status()["state"] == "dead"

        phone.boot()
        await see(faults, FaultTrigger.PUSH, 500)
        assert phone.alive
        assert happened(faults) == ["kill at push"]

    scene(act)


def test_a_fault_is_undone_after_its_time() -> None:
    async def act(faults: FaultScheduler, phone: Body) -> None:
        await faults.take(make_request("unplug", for_s=0.01))
        assert faults.status()["answers"] == "none"
        while len(happened(faults)) < 2:
            await asyncio.sleep(0.005)
        assert faults.relay.answer is RelayReply.PHONE
        assert happened(faults) == ["unplug at now", "replug at now"]

    scene(act)


def test_a_reboot_ends_and_boots_once() -> None:
    async def act(faults: FaultScheduler, phone: Body) -> None:
        await faults.relay.on_reboot()
        await faults.relay.on_reboot()
        while not phone.done:
            await asyncio.sleep(0.001)
        await asyncio.sleep(0.01)
        assert phone.alive
        assert phone.done == ["answering"]

    scene(act)


def test_a_reset_undoes_and_forgets_all() -> None:
    async def act(faults: FaultScheduler, phone: Body) -> None:
        await faults.take(make_request("hot"))
        await faults.take(make_request("vanish", moment="now"))
        await faults.take(make_request("kill", moment="run"))
        await faults.take(make_request("freeze", delay_s=0.01))
        await faults.take(make_request("reset"))
        await asyncio.sleep(0.03)

        status = faults.status()
        assert (status["state"], status["answers"]) == ("running", "phone")
        assert (status["waiting"], status["happened"]) == ([], [])
        assert phone.body == Sensors()
        assert "unfill()" in phone.done

    scene(act)
