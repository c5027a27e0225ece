"""A folder in the place of the /sys of a host, with a battery and a plug that can be pulled."""


def environment(fleet, host):
    """The environment of a worker that reads its conditions from this folder only."""
    return {
        "BATON_SYSTEM_ROOT": str(root(fleet, host)), "BATON_PROBES": "power", "BATON_RETURN_AFTER_POWER": "0s",
    }  # fmt: skip


def root(fleet, host):
    return fleet.folder / f"machine-{host}"


def set_power(fleet, host, is_plugged):
    supplies = root(fleet, host) / "sys/class/power_supply"
    words = {
        "AC/type": "Mains", "BAT0/type": "Battery", "BAT0/capacity": "80", "AC/online": "1" if is_plugged else "0",
        "BAT0/status": "Charging" if is_plugged else "Discharging",
    }  # fmt: skip
    for name, word in words.items():
        file = supplies / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(word + "\n")


def start_host(fleet, host, slots=2):
    """Starts a host that is plugged in."""
    set_power(fleet, host, True)
    fleet.start_host(host, slots, environment=environment(fleet, host))
