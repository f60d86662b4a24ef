"""Small files as programs write them, and what is in them: the oracle of `test_layouts` and
torture.

A layout knows which variable is what because it made them; nothing here looks at attributes or
names.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import xarray as xr


@dataclass(frozen=True)
class Truth:
    """What a layout holds.

    Attributes:
        channels: the fields, in the order of the file.
        coords: the variables that locate points, in the order of the model's coordinates.
        space: dimensions of space, in the order of the channels.
        time: the dimension of time; None for a single snapshot.
        sequence: the dimension of runs.
        instants: times as texts of dates or as numbers.
        geometry: "sphere" or "box".
        index: entries of other dimensions that are taken.
    """

    channels: tuple[str, ...]
    coords: tuple[str, ...]
    space: tuple[str, ...]
    time: str | None = None
    instants: tuple[Any, ...] = ()
    sequence: str | None = None
    geometry: str = "sphere"
    index: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Layout:
    """A file, how it is to be read, and what comes of it.

    Attributes:
        name: as in the table of docs/data.md.
        make: the dataset as it is written, nothing decoded.
        truth: what it holds, None if it cannot be read at all.
        options: what the reader has to be told.
        refused: what is said without the options.
        notes: words that the record must have.
    """

    name: str
    make: Callable[[], xr.Dataset]
    truth: Truth | None
    options: dict[str, Any] = field(default_factory=dict)
    refused: str = ""
    notes: tuple[str, ...] = ()


LAYOUTS: list[Layout] = []


def layout(name: str, truth: Truth | None, **more: Any) -> Callable[[Callable], Callable]:
    def keep(make: Callable[[], xr.Dataset]) -> Callable[[], xr.Dataset]:
        LAYOUTS.append(Layout(name, make, truth, **more))
        return make

    return keep


def values(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(280, 10, shape).astype("f4")


def attrs(units: str = "", standard: str = "", axis: str = "", **more: Any) -> dict[str, Any]:
    known = {"units": units, "standard_name": standard, "axis": axis} | more
    return {key: value for key, value in known.items() if value != ""}


LAT = np.array([60.0, 30.0, 0.0, -30.0])  # from north to south
LON = np.array([0.0, 72.0, 144.0, 216.0, 288.0])
DAYS = ("2001-01-01", "2001-01-02", "2001-01-03")
J, K = np.meshgrid(np.arange(4.0), np.arange(5.0), indexing="ij")
LAT2, LON2 = 40 + 2 * J + 0.3 * K, -10 + 3 * K - 0.2 * J
HOURS = tuple(f"2001-01-01T{6 * n:02d}" for n in range(3))


def lat_lon(lat: str = "lat", lon: str = "lon", descending: bool = True) -> dict[str, Any]:
    return {
        lat: (lat, LAT if descending else LAT[::-1], attrs("degrees_north", "latitude")),
        lon: (lon, LON, attrs("degrees_east", "longitude")),
    }


def daily(name: str = "time", **more: Any) -> dict[str, Any]:
    told = attrs("days since 2001-01-01", "time", "T", calendar="standard") | more
    return {name: (name, np.arange(3.0), told)}


SPHERE = Truth(("tas",), ("lat", "lon"), ("lat", "lon"), "time", DAYS)


@layout("CF, latitude and longitude", SPHERE)
def cf() -> xr.Dataset:
    return xr.Dataset(
        {"tas": (("time", "lat", "lon"), values(3, 4, 5), attrs("K", "air_temperature"))},
        daily() | lat_lon(),
    )


@layout(
    "ERA5, CDS until 2024",
    Truth(("t2m", "u10"), ("latitude", "longitude"), ("latitude", "longitude"), "time", HOURS),
)
def era5() -> xr.Dataset:
    packed = np.arange(60, dtype="i2").reshape(3, 4, 5) * 100 - 2000
    scaled = {"scale_factor": 0.002, "add_offset": 280.0, "_FillValue": np.int16(-32767)}
    dims = ("time", "latitude", "longitude")
    hours = 885360 + 6 * np.arange(3, dtype="i4")
    return xr.Dataset(
        {
            "t2m": (dims, packed, attrs("K", long_name="2 metre temperature", **scaled)),
            "u10": (dims, values(3, 4, 5), attrs("m s**-1")),
        },
        {
            "time": ("time", hours, attrs("hours since 1900-01-01 00:00:00.0", long_name="time")),
            "latitude": ("latitude", LAT.astype("f4"), attrs("degrees_north")),
            "longitude": ("longitude", LON.astype("f4"), attrs("degrees_east")),
        },
    )


def era5_new(levels: int = 0) -> xr.Dataset:
    dims = ("valid_time", *(["pressure_level"] if levels else []), "latitude", "longitude")
    shape = (3, *([levels] if levels else []), 4, 5)
    seconds = 978307200 + 21600 * np.arange(3)
    return xr.Dataset(
        {
            "t": (dims, values(*shape), attrs("K", "air_temperature", GRIB_paramId=130)),
            "expver": ("valid_time", np.array(["0001"] * 3)),
            "number": ((), 0, attrs("1", "realization")),
        },
        {
            "valid_time": ("valid_time", seconds, attrs("seconds since 1970-01-01", "time")),
            "latitude": ("latitude", LAT, attrs("degrees_north", "latitude")),
            "longitude": ("longitude", LON, attrs("degrees_east", "longitude")),
        }
        | (
            {
                "pressure_level": (
                    "pressure_level",
                    np.array([1000.0, 850.0, 500.0][:levels]),
                    attrs("hPa", "air_pressure", positive="down"),
                )
            }
            if levels
            else {}
        ),
    )


VALID = Truth(("t",), ("latitude", "longitude"), ("latitude", "longitude"), "valid_time", HOURS)
layout("ERA5, CDS since 2024 (valid_time)", VALID)(lambda: era5_new())
layout(
    "ERA5, one pressure level",
    Truth(
        *(VALID.channels, VALID.coords, VALID.space, "valid_time", HOURS),
        index={"pressure_level": 0},
    ),
    notes=(r"'pressure_level' has a single entry \(1000\) and is left out",),
)(lambda: era5_new(1))
layout(
    "ERA5, several pressure levels",
    Truth(
        *(VALID.channels, VALID.coords, VALID.space, "valid_time", HOURS),
        index={"pressure_level": 2},
    ),
    options={"select": {"pressure_level": 500}},
    refused=r"'pressure_level' has 3 entries as well \(1000, 850, 500 hPa\); keep one with "
    r"--select",
    notes=("'pressure_level' selected: 500",),
)(lambda: era5_new(3))


@layout(
    "ERA5, geopotential at the ground beside it",
    Truth(("t2m",), ("latitude", "longitude"), ("latitude", "longitude"), "time", HOURS),
)
def era5_static() -> xr.Dataset:
    z = (("latitude", "longitude"), values(4, 5), attrs("m**2 s**-2", "geopotential"))
    return era5().drop_vars("u10").assign(z=z)


@layout(
    "ERA5, geopotential as a field",
    Truth(("z",), ("latitude", "longitude"), ("latitude", "longitude"), "time", HOURS),
)
def era5_geopotential() -> xr.Dataset:
    z = (("time", "latitude", "longitude"), values(3, 4, 5), attrs("m**2 s**-2", "geopotential"))
    return era5().drop_vars(["t2m", "u10"]).assign(z=z)


@layout(
    "ERA5T, final and preliminary (expver)",
    Truth(
        ("t2m",),
        ("latitude", "longitude"),
        ("latitude", "longitude"),
        "time",
        HOURS,
        index={"expver": 0},
    ),
    options={"select": {"expver": 1}},
    refused=r"'expver' has 2 entries as well \(1, 5\); keep one with --select expver=1",
)
def era5t() -> xr.Dataset:
    dims = ("time", "expver", "latitude", "longitude")
    return (
        era5()
        .drop_vars(["t2m", "u10"])
        .assign(t2m=(dims, values(3, 2, 4, 5), attrs("K")), expver=("expver", [1, 5]))
    )


@layout(
    "GRIB by cfgrib, one forecast (step, valid_time)",
    Truth(("t2m",), ("latitude", "longitude"), ("latitude", "longitude"), "step", HOURS),
)
def cfgrib() -> xr.Dataset:
    return xr.Dataset(
        {
            "t2m": (("step", "latitude", "longitude"), values(3, 4, 5), attrs("K")),
            "time": ((), 978307200, attrs("seconds since 1970-01-01", "forecast_reference_time")),
            "valid_time": (
                "step",
                978307200 + 21600 * np.arange(3),
                attrs("seconds since 1970-01-01", "time"),
            ),
        },
        {"step": ("step", 6.0 * np.arange(3), attrs("hours", "forecast_period"))}
        | lat_lon("latitude", "longitude"),
    )


@layout(
    "forecasts of several dates (time, step)",
    Truth(
        ("t2m",),
        ("latitude", "longitude"),
        ("latitude", "longitude"),
        "step",
        (0.0, 6.0, 12.0),
        "time",
    ),
    options={"dims": {"time": "sequence", "step": "time"}},
    refused=r"time \(2\) and step \(3\) both look like dimensions of time; .*--dims "
    r"time=sequence,step=time",
)
def hindcasts() -> xr.Dataset:
    return xr.Dataset(
        {"t2m": (("time", "step", "latitude", "longitude"), values(2, 3, 4, 5), attrs("K"))},
        {
            "time": ("time", [0, 24], attrs("hours since 2001-01-01", "forecast_reference_time")),
            "step": ("step", 6.0 * np.arange(3), attrs("hours", "forecast_period")),
        }
        | lat_lon("latitude", "longitude"),
    )


def cmip(calendar: str = "noleap", **more: Any) -> xr.Dataset:
    time = attrs("days since 2001-01-01", "time", "T", calendar=calendar, bounds="time_bnds")
    bounds = np.stack([LAT + 15, LAT - 15], 1)
    return xr.Dataset(
        {
            "tas": (
                ("time", "lat", "lon"),
                values(3, 4, 5),
                attrs(
                    "K", "air_temperature", cell_methods="area: time: mean", coordinates="height"
                ),
            ),
            "time_bnds": (("time", "bnds"), np.stack([np.arange(3.0), np.arange(3.0) + 1], 1)),
            "lat_bnds": (("lat", "bnds"), bounds),
            "lon_bnds": (("lon", "bnds"), np.stack([LON - 36, LON + 36], 1)),
            "height": ((), 2.0, attrs("m", "height", "Z", positive="up")),
        },
        {
            "time": ("time", np.arange(3.0), time),
            "lat": ("lat", LAT[::-1], attrs("degrees_north", "latitude", "Y", bounds="lat_bnds")),
            "lon": ("lon", LON, attrs("degrees_east", "longitude", "X", bounds="lon_bnds")),
        },
    )


layout("CMIP6, atmosphere (noleap, bounds, scalar height)", SPHERE)(cmip)
layout("CMIP6, 360-day calendar", SPHERE)(lambda: cmip("360_day"))


@layout(
    "CMIP6, ocean on a curvilinear grid",
    Truth(("tos",), ("latitude", "longitude"), ("j", "i"), "time", DAYS),
)
def cmip_ocean() -> xr.Dataset:
    corners = np.zeros((4, 5, 4))
    return xr.Dataset(
        {
            "tos": (
                ("time", "j", "i"),
                values(3, 4, 5),
                attrs(
                    "degC",
                    "sea_surface_temperature",
                    coordinates="latitude longitude",
                    cell_measures="area: areacello",
                ),
            ),
            "latitude": (
                ("j", "i"),
                LAT2,
                attrs("degrees_north", "latitude", bounds="vertices_latitude"),
            ),
            "longitude": (
                ("j", "i"),
                LON2 % 360,
                attrs("degrees_east", "longitude", bounds="vertices_longitude"),
            ),
            "vertices_latitude": (("j", "i", "vertices"), corners, attrs("degrees_north")),
            "vertices_longitude": (("j", "i", "vertices"), corners, attrs("degrees_east")),
        },
        daily() | {"j": ("j", np.arange(4), attrs("1")), "i": ("i", np.arange(5), attrs("1"))},
    )


@layout(
    "CMIP6, members along member_id",
    Truth(("tas",), ("lat", "lon"), ("lat", "lon"), "time", DAYS, "member_id"),
)
def cmip_members() -> xr.Dataset:
    return xr.Dataset(
        {"tas": (("member_id", "time", "lat", "lon"), values(2, 3, 4, 5), attrs("K"))},
        daily() | lat_lon() | {"member_id": ("member_id", np.array(["r1i1p1f1", "r2i1p1f1"]))},
    )


@layout(
    "ensemble by realization",
    Truth(("tas",), ("lat", "lon"), ("lat", "lon"), "time", DAYS, "ens"),
)
def ensemble() -> xr.Dataset:
    return xr.Dataset(
        {"tas": (("time", "ens", "lat", "lon"), values(3, 2, 4, 5), attrs("K"))},
        daily() | lat_lon() | {"ens": ("ens", [1, 2], attrs("1", "realization", "E"))},
    )


def wrf(stagger: bool = False) -> xr.Dataset:
    names = ("Time", "south_north", "west_east")
    common = {
        "FieldType": 104,
        "MemoryOrder": "XY ",
        "stagger": "",
        "coordinates": "XLONG XLAT XTIME",
    }
    chars = np.array([f"2001-01-01_{6 * n:02d}:00:00" for n in range(3)], dtype="S19")
    variables = {
        "Times": ("Time", chars),
        "XLAT": (
            names,
            np.stack([LAT2] * 3).astype("f4"),
            {"units": "degree_north", "stagger": ""},
        ),
        "XLONG": (
            names,
            np.stack([LON2] * 3).astype("f4"),
            {"units": "degree_east", "stagger": ""},
        ),
        "XTIME": ("Time", 360.0 * np.arange(3), {"units": "minutes since 2001-01-01 00:00:00"}),
        "T2": (names, values(3, 4, 5), {"units": "K", "description": "TEMP at 2 M", **common}),
        "PSFC": (names, values(3, 4, 5, seed=1), {"units": "Pa", **common}),
        "HGT": (names[1:], values(4, 5), {"units": "m"}),
    }
    if stagger:
        staggered = {**common, "stagger": "X", "coordinates": "XLONG_U XLAT_U XTIME"}
        variables["U"] = (
            ("Time", "bottom_top", "south_north", "west_east_stag"),
            values(3, 2, 4, 6),
            {"units": "m s-1", **staggered},
        )
    return xr.Dataset(variables)


WRF = Truth(
    ("T2", "PSFC"),
    ("XLAT", "XLONG"),
    ("south_north", "west_east"),
    "Time",
    HOURS,
    index={"Time": 0},
)
layout("WRF, surface fields", WRF, notes=("'XLAT' is the same at all times",))(wrf)
layout(
    "WRF, with staggered winds on levels",
    WRF,
    options={"channels": ["T2", "PSFC"]},
    refused=r"same dimensions, got T2\(Time, south_north, west_east\) and 1 like it; "
    r"U\(.*--channels T2,PSFC",
)(lambda: wrf(stagger=True))
layout("WRF, dates as texts alone", WRF)(lambda: wrf().drop_vars("XTIME"))


@layout("WRF, a moving nest", None, refused="the points move: 'XLAT' is another one at time index")
def moving_nest() -> xr.Dataset:
    dataset = wrf()
    dataset["XLAT"][1:] += 1.0
    return dataset


def nemo(levels: int = 0) -> xr.Dataset:
    time = attrs(
        "seconds since 1950-01-01 00:00:00",
        "time",
        "T",
        calendar="gregorian",
        bounds="time_counter_bounds",
    )
    seconds = 1609459200.0 + 86400 * np.arange(3)
    dims = ("time_counter", *(["deptht"] if levels else []), "y", "x")
    shape = (3, *([levels] if levels else []), 4, 5)
    depth = attrs("m", long_name="Vertical T levels", positive="down", axis="Z")
    return xr.Dataset(
        {
            "nav_lat": (("y", "x"), LAT2, attrs("degrees_north", "latitude")),
            "nav_lon": (("y", "x"), LON2, attrs("degrees_east", "longitude")),
            "time_counter_bounds": (
                ("time_counter", "axis_nbounds"),
                np.stack([seconds, seconds + 86400], 1),
            ),
            "votemper": (
                dims,
                values(*shape),
                attrs("degC", coordinates="time_counter nav_lat nav_lon"),
            ),
        },
        {"time_counter": ("time_counter", seconds, time)}
        | ({"deptht": ("deptht", [0.5, 1.5][:levels], depth)} if levels else {}),
    )


NEMO = ("votemper",), ("nav_lat", "nav_lon"), ("y", "x"), "time_counter", DAYS
layout("NEMO, surface", Truth(*NEMO))(nemo)
layout(
    "NEMO, one level", Truth(*NEMO, index={"deptht": 0}), notes=("'deptht' has a single entry",)
)(lambda: nemo(1))
layout(
    "NEMO, levels",
    Truth(*NEMO, index={"deptht": 1}),
    options={"select": {"deptht": 1.5}},
    refused=r"'deptht' has 2 entries as well \(0.5, 1.5 m\)",
)(lambda: nemo(2))
layout("NEMO, places without attributes", Truth(*NEMO))(
    lambda: nemo().assign(nav_lat=nemo().nav_lat.drop_attrs(), nav_lon=nemo().nav_lon.drop_attrs())
)


@layout(
    "ROMS, free surface",
    Truth(("zeta",), ("lat_rho", "lon_rho"), ("eta_rho", "xi_rho"), "ocean_time", DAYS),
)
def roms() -> xr.Dataset:
    rho = ("eta_rho", "xi_rho")
    return xr.Dataset(
        {
            "zeta": (
                ("ocean_time", *rho),
                values(3, 4, 5),
                attrs("meter", time="ocean_time", coordinates="lon_rho lat_rho ocean_time"),
            ),
            "lat_rho": (rho, LAT2, attrs("degree_north", "latitude")),
            "lon_rho": (rho, LON2, attrs("degree_east", "longitude")),
            "h": (rho, values(4, 5), attrs("meter", coordinates="lon_rho lat_rho")),
            "mask_rho": (
                rho,
                np.ones((4, 5)),
                {"flag_values": [0.0, 1.0], "flag_meanings": "land water"},
            ),
            "lat_u": (("eta_u", "xi_u"), LAT2[:, 1:], attrs("degree_north", "latitude")),
            "lon_u": (("eta_u", "xi_u"), LON2[:, 1:], attrs("degree_east", "longitude")),
            "Vtransform": ((), 2),
        },
        {
            "ocean_time": (
                "ocean_time",
                86400.0 * np.arange(3),
                attrs("seconds since 2001-01-01", long_name="time since initialization"),
            )
        },
    )


@layout(
    "ROMS, idealised (x, y in metres)",
    Truth(("zeta",), ("x_rho", "y_rho"), ("eta_rho", "xi_rho"), "ocean_time", DAYS, geometry="box"),
)
def roms_box() -> xr.Dataset:
    rho = ("eta_rho", "xi_rho")
    flat = {"x_rho": (rho, 1e3 * K, attrs("meter")), "y_rho": (rho, 1e3 * J, attrs("meter"))}
    zeta = roms().zeta.assign_attrs(coordinates="x_rho y_rho ocean_time")
    dropped = ["lat_rho", "lon_rho", "lat_u", "lon_u"]
    return roms().drop_vars(dropped).assign(flat).assign(zeta=zeta)


def cesm(levels: bool = False) -> xr.Dataset:
    dims = ("time", "lev", "lat", "lon") if levels else ("time", "lat", "lon")
    lev = attrs(
        "level",
        "atmosphere_hybrid_sigma_pressure_coordinate",
        positive="down",
        formula_terms="a: hyam b: hybm p0: P0 ps: PS",
    )
    variables = {
        "TS": (
            ("time", "lat", "lon"),
            values(3, 4, 5),
            attrs("K", long_name="Surface temperature"),
        ),
        "date": (
            "time",
            np.array([20010101, 20010102, 20010103]),
            attrs(long_name="current date (YYYYMMDD)"),
        ),
        "datesec": ("time", np.zeros(3, int)),
        "time_bnds": (("time", "nbnd"), np.stack([np.arange(3.0), np.arange(3.0) + 1], 1)),
        "gw": ("lat", np.ones(4), attrs(long_name="gauss weights")),
        "co2vmr": ("time", np.ones(3)),
        "P0": ((), 1e5, attrs("Pa")),
    }
    if levels:
        variables["T"] = (dims, values(3, 2, 4, 5), attrs("K", mdims=1))
        variables |= {name: ("lev", np.array([0.1, 0.2])) for name in ("hyam", "hybm")}
    time = attrs(
        "days since 2001-01-01 00:00:00", calendar="noleap", bounds="time_bnds", long_name="time"
    )
    coords = {"time": ("time", np.arange(3.0), time)} | lat_lon()
    if levels:
        coords["lev"] = ("lev", [500.0, 900.0], lev)
    return xr.Dataset(variables, coords)


layout("CESM/CAM, surface", Truth(("TS",), ("lat", "lon"), ("lat", "lon"), "time", DAYS))(cesm)
layout(
    "CESM/CAM, hybrid levels",
    Truth(("T",), ("lat", "lon"), ("lat", "lon"), "time", DAYS, index={"lev": 1}),
    options={"channels": ["T"], "select": {"lev": 900}},
    refused=r"same dimensions, got TS\(time, lat, lon\); T\(time, lev, lat, lon\)",
)(lambda: cesm(levels=True))


def pop(told: bool = True, both: bool = False) -> xr.Dataset:
    grid = ("nlat", "nlon")
    where = {"coordinates": "TLONG TLAT time"} if told else {}
    variables = {
        "SST": (("time", *grid), values(3, 4, 5), attrs("degC", **where)),
        "TLAT": (grid, LAT2, attrs("degrees_north")),
        "TLONG": (grid, LON2, attrs("degrees_east")),
        "ULAT": (grid, LAT2 + 0.5, attrs("degrees_north")),
        "ULONG": (grid, LON2 + 0.5, attrs("degrees_east")),
    }
    if both:
        there = {"coordinates": "ULONG ULAT time"}
        variables["UVEL"] = (("time", *grid), values(3, 4, 5), attrs("cm/s", **there))
    return xr.Dataset(variables, daily())


POP = Truth(("SST",), ("TLAT", "TLONG"), ("nlat", "nlon"), "time", DAYS)
layout("CESM/POP, tracers (TLAT beside ULAT)", POP)(pop)
layout(
    "CESM/POP, tracers and velocities",
    POP,
    options={"channels": ["SST"]},
    refused="channels lie on different points: .*keep those that belong together with --channels",
)(lambda: pop(both=True))
layout(
    "CESM/POP, without the attribute coordinates",
    POP,
    options={"coordinate_names": ["TLAT", "TLONG"]},
    refused="TLAT, ULAT all say they are the latitude of the points, and differ; say .*--coords",
)(lambda: pop(told=False))


@layout(
    "MOM, tripolar (geolat_t beside yt_ocean)",
    Truth(("sst",), ("geolat_t", "geolon_t"), ("yt_ocean", "xt_ocean"), "Time", DAYS),
)
def mom() -> xr.Dataset:
    grid = ("yt_ocean", "xt_ocean")
    return xr.Dataset(
        {
            "sst": (
                ("Time", *grid),
                values(3, 4, 5),
                attrs("degrees C", coordinates="geolon_t geolat_t"),
            ),
            "geolat_t": (grid, LAT2, attrs("degrees_N")),
            "geolon_t": (grid, LON2, attrs("degrees_E")),
            "average_DT": ("Time", np.ones(3), attrs("days")),
        },
        {
            "Time": (
                "Time",
                np.arange(3.0),
                attrs("days since 2001-01-01", cartesian_axis="T", calendar_type="JULIAN"),
            ),
            "yt_ocean": ("yt_ocean", LAT2[:, 0], attrs("degrees_N", cartesian_axis="Y")),
            "xt_ocean": ("xt_ocean", LON2[0], attrs("degrees_E", cartesian_axis="X")),
        },
    )


@layout(
    "HYCOM (MT, Y, X with Latitude, Longitude)",
    Truth(("ssh",), ("Latitude", "Longitude"), ("Y", "X"), "MT", DAYS),
)
def hycom() -> xr.Dataset:
    return xr.Dataset(
        {
            "ssh": (
                ("MT", "Y", "X"),
                values(3, 4, 5),
                attrs("m", "sea_surface_elevation", coordinates="Longitude Latitude Date"),
            ),
            "Latitude": (("Y", "X"), LAT2, attrs("degrees_north", "latitude")),
            "Longitude": (("Y", "X"), LON2, attrs("degrees_east", "longitude")),
            "Date": (
                "MT",
                [20010101.0, 20010102.0, 20010103.0],
                attrs("day as %Y%m%d.%f", calendar="proleptic_gregorian"),
            ),
        },
        {
            "MT": (
                "MT",
                36526.0 + np.arange(3),
                attrs("days since 1900-12-31 00:00:00", "time", "T", calendar="standard"),
            ),
            "Y": ("Y", np.arange(1, 5), attrs(axis="Y", point_spacing="even")),
            "X": ("X", np.arange(1, 6), attrs(axis="X", point_spacing="even")),
        },
    )


@layout(
    "OSTIA, GHRSST L4 (packed, mask of flags)",
    Truth(("analysed_sst",), ("lat", "lon"), ("lat", "lon"), "time", DAYS),
)
def ostia() -> xr.Dataset:
    dims = ("time", "lat", "lon")
    packed = (100 * np.arange(60).reshape(3, 4, 5)).astype("i2")
    scaled = {"scale_factor": 0.01, "add_offset": 273.15, "_FillValue": np.int16(-32768)}
    flags = {
        "flag_masks": np.array([1, 2], "i1"),
        "flag_meanings": "sea land",
        "valid_min": np.int8(1),
    }
    return xr.Dataset(
        {
            "analysed_sst": (
                dims,
                packed,
                attrs("kelvin", "sea_surface_foundation_temperature", **scaled),
            ),
            "mask": (dims, np.ones((3, 4, 5), "i1"), flags),
        },
        {
            "time": (
                "time",
                631152000 + 86400 * np.arange(3),
                attrs("seconds since 1981-01-01 00:00:00", "time", "T"),
            )
        }
        | lat_lon(descending=False),
    )


@layout(
    "GPM IMERG (time, lon, lat)",
    Truth(("precipitation",), ("lat", "lon"), ("lon", "lat"), "time", DAYS),
)
def imerg() -> xr.Dataset:
    rain = {"units": "mm/hr", "_FillValue": np.float32(-9999.9), "coordinates": "time lon lat"}
    return xr.Dataset(
        {
            "precipitation": (("time", "lon", "lat"), values(3, 5, 4), rain),
            "time_bnds": (
                ("time", "nv"),
                np.zeros((3, 2), "i4"),
                attrs("seconds since 1970-01-01"),
            ),
        },
        {
            "time": (
                "time",
                978307200 + 86400 * np.arange(3),
                attrs("seconds since 1970-01-01 00:00:00 UTC", "time", bounds="time_bnds"),
            )
        }
        | lat_lon(descending=False),
    )


def rotated(places: bool = True, mapping: bool = True) -> xr.Dataset:
    grid = ("rlat", "rlon")
    pole = {
        "grid_mapping_name": "rotated_latitude_longitude",
        "grid_north_pole_latitude": 39.25,
        "grid_north_pole_longitude": -162.0,
    }
    where = {"grid_mapping": "rotated_pole"} | ({"coordinates": "lat lon"} if places else {})
    variables: dict[str, Any] = {"tas": (("time", *grid), values(3, 4, 5), attrs("K", **where))}
    if mapping:
        variables["rotated_pole"] = ((), np.int32(0), pole)
    if places:
        variables["lat"] = (grid, LAT2, attrs("degrees_north", "latitude"))
        variables["lon"] = (grid, LON2, attrs("degrees_east", "longitude"))
    return xr.Dataset(
        variables,
        daily()
        | {
            "rlat": ("rlat", np.linspace(-10, 5, 4), attrs("degrees", "grid_latitude", "Y")),
            "rlon": ("rlon", np.linspace(-8, 8, 5), attrs("degrees", "grid_longitude", "X")),
        },
    )


layout(
    "UERRA, CORDEX: rotated pole with latitude and longitude",
    Truth(("tas",), ("lat", "lon"), ("rlat", "rlon"), "time", DAYS),
)(rotated)
layout(
    "rotated pole alone, with its grid mapping",
    Truth(("tas",), ("true latitude", "true longitude"), ("rlat", "rlon"), "time", DAYS),
    notes=("latitude and longitude are computed from 'rlat' and 'rlon' of a rotated pole",),
)(lambda: rotated(places=False))
layout(
    "rotated pole of which nothing is said",
    Truth(("tas",), ("rlat", "rlon"), ("rlat", "rlon"), "time", DAYS, geometry="box"),
    options={"coordinate_names": ["rlat", "rlon"]},
    refused="'rlat' is a coordinate of a rotated pole, and nothing says where that pole is; say "
    "--coords",
)(lambda: rotated(places=False, mapping=False))


def turned_places(dataset: xr.Dataset) -> dict[str, Any]:
    """True latitude and longitude of rotated coordinates, turned by a matrix, point by point."""
    pole = dataset["rotated_pole"].attrs
    lat_p = np.deg2rad(pole["grid_north_pole_latitude"])
    lon_p = np.deg2rad(pole["grid_north_pole_longitude"])
    north = np.array([np.cos(lat_p) * np.cos(lon_p), np.cos(lat_p) * np.sin(lon_p), np.sin(lat_p)])
    # The rotated meridian 0 is the half circle from the rotated pole through the true north pole.
    start = np.array([0, 0, 1.0]) - north[2] * north
    start /= np.linalg.norm(start)
    east = np.cross(north, start)
    found = []
    for lat in np.deg2rad(dataset["rlat"].values):
        for lon in np.deg2rad(dataset["rlon"].values):
            v = np.cos(lat) * (np.cos(lon) * start + np.sin(lon) * east) + np.sin(lat) * north
            found.append((np.rad2deg(np.arcsin(v[2])), np.rad2deg(np.arctan2(v[1], v[0]))))
    shape = (dataset.sizes["rlat"], dataset.sizes["rlon"])
    pair = np.array(found).T.reshape(2, *shape)
    return {
        name: (("rlat", "rlon"), each)
        for name, each in zip(("latitude", "longitude"), pair, strict=True)
    }


def projected(name: str, places: bool) -> xr.Dataset:
    where = {"grid_mapping": "crs"} | ({"coordinates": "lat lon"} if places else {})
    variables: dict[str, Any] = {
        "swe": (("time", "y", "x"), values(3, 4, 5), attrs("kg m-2", **where)),
        "crs": (
            (),
            np.int32(0),
            {"grid_mapping_name": name, "longitude_of_projection_origin": 10.0},
        ),
    }
    if places:
        variables["lat"] = (("y", "x"), LAT2, attrs("degrees_north", "latitude"))
        variables["lon"] = (("y", "x"), LON2, attrs("degrees_east", "longitude"))
    return xr.Dataset(
        variables,
        daily()
        | {
            "y": ("y", 1000.0 * np.arange(4)[::-1], attrs("m", "projection_y_coordinate", "Y")),
            "x": ("x", 1000.0 * np.arange(5), attrs("m", "projection_x_coordinate", "X")),
        },
    )


layout(
    "Lambert conformal with latitude and longitude",
    Truth(("swe",), ("lat", "lon"), ("y", "x"), "time", DAYS),
)(lambda: projected("lambert_conformal_conic", True))
layout(
    "Lambert azimuthal equal area, x and y alone",
    Truth(("swe",), ("x", "y"), ("y", "x"), "time", DAYS, geometry="box"),
)(lambda: projected("lambert_azimuthal_equal_area", False))
layout(
    "polar stereographic (OSI SAF), x and y in km, latitude and longitude",
    Truth(("swe",), ("lat", "lon"), ("y", "x"), "time", DAYS),
)(
    lambda: projected("polar_stereographic", True).assign_coords(
        x=("x", np.arange(5.0), attrs("km", "projection_x_coordinate", "X")),
        y=("y", np.arange(4.0), attrs("km", "projection_y_coordinate", "Y")),
    )
)


@layout(
    "MPAS, ICON: cells with angles in radians, dates as texts",
    Truth(("t2m",), ("latCell", "lonCell"), ("nCells",), "Time", HOURS),
    notes=("'latCell' was in radians and is in degrees now",),
)
def mpas() -> xr.Dataset:
    latitude, longitude = np.linspace(-80, 80, 7), np.linspace(5, 350, 7)
    return xr.Dataset(
        {
            "t2m": (("Time", "nCells"), values(3, 7), attrs("K")),
            "latCell": ("nCells", np.deg2rad(latitude), attrs("rad")),
            "lonCell": ("nCells", np.deg2rad(longitude), attrs("rad")),
            "xtime": ("Time", np.array([f"2001-01-01_{6 * n:02d}:00:00" for n in range(3)], "S64")),
            "verticesOnCell": (("nCells", "maxEdges"), np.zeros((7, 6), "i4")),
        }
    )


@layout(
    "stations (CF discrete sampling)",
    Truth(("temp",), ("lat", "lon"), ("station",), "time", DAYS),
)
def stations() -> xr.Dataset:
    return xr.Dataset(
        {
            "temp": (
                ("station", "time"),
                values(6, 3),
                attrs("degC", coordinates="lat lon alt station_name"),
            ),
            "lat": ("station", np.linspace(40, 60, 6), attrs("degrees_north", "latitude")),
            "lon": ("station", np.linspace(0, 20, 6), attrs("degrees_east", "longitude")),
            "alt": ("station", np.full(6, 10.0), attrs("m", "height", "Z", positive="up")),
            "station_name": ("station", np.array(list("abcdef")), {"cf_role": "timeseries_id"}),
        },
        daily(),
    )


@layout(
    "drifters (lat and lon over time)",
    None,
    refused="the points move: 'lat' is another one at time index",
)
def drifters() -> xr.Dataset:
    return xr.Dataset(
        {
            "temp": (("time", "buoy"), values(3, 6), attrs("degC", coordinates="lat lon")),
            "lat": (("time", "buoy"), values(3, 6) / 10, attrs("degrees_north", "latitude")),
            "lon": (("time", "buoy"), values(3, 6) / 10, attrs("degrees_east", "longitude")),
        },
        daily(),
    )


@layout(
    "months since a date (IRI)",
    Truth(
        ("sst",), ("Y", "X"), ("Y", "X"), "T", ("1980-01-16T12", "1980-02-15T12", "1980-03-16T12")
    ),
    notes=("dates of 'T' are written as 'months since 1960-01-01'",),
)
def iri() -> xr.Dataset:
    return xr.Dataset(
        {"sst": (("T", "Y", "X"), values(3, 4, 5), attrs("Celsius_scale"))},
        {
            "T": ("T", 240.5 + np.arange(3), attrs("months since 1960-01-01", calendar="standard")),
            "Y": ("Y", LAT, attrs("degree_north", "latitude")),
            "X": ("X", LON, attrs("degree_east", "longitude")),
        },
    )


@layout(
    "CDO, absolute dates (day as %Y%m%d.%f)",
    Truth(("tas",), ("lat", "lon"), ("lat", "lon"), "time", HOURS),
)
def cdo() -> xr.Dataset:
    time = attrs("day as %Y%m%d.%f", "time", "T", calendar="proleptic_gregorian")
    return cf().assign_coords(time=("time", 20010101 + 0.25 * np.arange(3), time))


@layout("longitudes from -180 to 180", SPHERE)
def western() -> xr.Dataset:
    return cf().assign_coords(lon=("lon", LON - 180.0, attrs("degrees_east", "longitude")))


@layout(
    "land as missing values", SPHERE, options={"missing": "mask"}, refused="is nan in sequence 0"
)
def land() -> xr.Dataset:
    dataset = cf()
    dataset["tas"][:, 1, 2] = 1e20
    dataset["tas"].attrs |= {"_FillValue": np.float32(1e20), "missing_value": np.float32(1e20)}
    return dataset


@layout("zonal means (time, lat)", Truth(("ua",), ("lat",), ("lat",), "time", DAYS, geometry="box"))
def zonal() -> xr.Dataset:
    coords = daily() | {"lat": lat_lon()["lat"]}
    return xr.Dataset({"ua": (("time", "lat"), values(3, 4), attrs("m s-1"))}, coords)


NUMBERS = (0.0, 0.5, 1.0)
SECONDS = {"time": ("time", np.array(NUMBERS), {"units": "s"})}


@layout(
    "CFD on a grid, plain names",
    Truth(("u", "v"), ("x", "y"), ("y", "x"), "time", NUMBERS, geometry="box"),
)
def cfd() -> xr.Dataset:
    dims = ("time", "y", "x")
    return xr.Dataset(
        {"u": (dims, values(3, 4, 5)), "v": (dims, values(3, 4, 5, seed=1))},
        SECONDS | {"y": ("y", np.linspace(0, 1, 4)), "x": ("x", np.linspace(0, 2, 5))},
    )


@layout(
    "CFD in three dimensions, (z, y, x)",
    Truth(("u",), ("x", "y", "z"), ("z", "y", "x"), "time", NUMBERS, geometry="box"),
)
def cfd_3d() -> xr.Dataset:
    return xr.Dataset(
        {"u": (("time", "z", "y", "x"), values(3, 2, 4, 5))},
        SECONDS
        | {
            "z": ("z", [0.0, 1.5]),
            "y": ("y", np.linspace(0, 1, 4)),
            "x": ("x", np.linspace(0, 2, 5)),
        },
    )


@layout(
    "CFD, x and y over (z, j, i) beside z",
    Truth(("u",), ("x", "y", "z"), ("z", "j", "i"), "time", NUMBERS, geometry="box"),
)
def terrain_following() -> xr.Dataset:
    over = ("z", "j", "i")
    return xr.Dataset(
        {"u": (("time", *over), values(3, 2, 4, 5))},
        SECONDS
        | {
            "z": ("z", [0.0, 1.5]),
            "x": (over, np.stack([K, K + 0.1])),
            "y": (over, np.stack([J, J + 0.1])),
        },
    )


@layout(
    "scattered points without attributes, x, y, z as variables",
    Truth(("p",), ("x", "y", "z"), ("node",), "t", NUMBERS, geometry="box"),
)
def scattered() -> xr.Dataset:
    where = {name: ("node", np.random.default_rng(k).random(7)) for k, name in enumerate("xyz")}
    return xr.Dataset({"p": (("t", "node"), values(3, 7))} | where, {"t": ("t", np.array(NUMBERS))})


@layout(
    "runs with parameters, inputs and static fields",
    Truth(("u",), ("x",), ("x",), "time", NUMBERS, "run", geometry="box"),
)
def runs() -> xr.Dataset:
    return xr.Dataset(
        {
            "u": (("run", "time", "x"), values(2, 3, 5)),
            "viscosity": ("run", [0.1, 0.2]),
            "inflow": ("time", [1.0, 2.0, 3.0]),
            "roughness": ("x", np.ones(5)),
        },
        SECONDS | {"x": ("x", np.linspace(0, 2, 5))},
    )


@layout(
    "components along a dimension",
    Truth(("u",), ("x", "y"), ("y", "x"), "time", NUMBERS, geometry="box", index={"component": 0}),
    options={"select": {"component": 0}},
    refused=r"nothing says what dimension 'component' \(2\) is; say so with --dims",
)
def components() -> xr.Dataset:
    u = (("time", "component", "y", "x"), values(3, 2, 4, 5))
    return cfd().drop_vars(["u", "v"]).assign(u=u, component=("component", [0, 1]))


@layout(
    "a time that nothing names",
    Truth(("u",), ("x", "y"), ("y", "x"), "frame", (0.0, 0.04, 0.08), geometry="box"),
    options={"dims": {"frame": "time"}},
    refused=r"nothing says what dimension 'frame' \(3\) is; say so with --dims frame=time",
)
def frames() -> xr.Dataset:
    renamed = cfd().drop_vars(["v", "time"]).rename_dims(time="frame")
    return renamed.assign_coords(frame=("frame", [0.0, 0.04, 0.08]))


@layout(
    "a grid without coordinates",
    None,
    refused="nothing says where the points along dimension 'y' are",
)
def bare() -> xr.Dataset:
    return cfd().drop_vars(["x", "y"])


@layout("complex values", None, refused="'u' must hold real numbers, got values of type complex")
def complex_values() -> xr.Dataset:
    return cfd().assign(u=(("time", "y", "x"), values(3, 4, 5) * (1 + 1j)))


@layout(
    "attributes that contradict names",
    SPHERE,
    options={"coordinate_names": ["lat", "lon"], "geometry": "sphere"},
    refused="'lat' contradicts itself: standard_name 'longitude' makes it a longitude, but it "
    "has its name",
)
def contradictory() -> xr.Dataset:
    dataset = cf()
    dataset["lat"].attrs, dataset["lon"].attrs = dataset["lon"].attrs, dataset["lat"].attrs
    return dataset


def row(case: Layout) -> str:
    """A layout in the table of docs/data.md."""
    if case.truth is None:
        return f"| {case.name} | refused: {_plain(case.refused)} |"
    truth = case.truth
    places = ", ".join(name.replace("true ", "computed ") for name in truth.coords)
    parts = [f"{truth.geometry} ({places})"]
    parts += [f"time `{truth.time}`"] if truth.time else []
    parts += [f"sequences `{truth.sequence}`"] if truth.sequence else []
    told = f"read as {', '.join(parts)}"
    options = _options(case.options)
    return f"| {case.name} | {f'needs `{options}`, then ' if options else ''}{told} |"


def _options(options: dict[str, Any]) -> str:
    """As one would type them."""
    words = []
    for name, value in options.items():
        if isinstance(value, dict):
            value = ",".join(f"{key}={each}" for key, each in value.items())
        elif isinstance(value, list):
            value = ",".join(value)
        words.append(f"--{name.replace('coordinate_names', 'coords')} {value}")
    return " ".join(words)


def _plain(pattern: str) -> str:
    return pattern.replace("\\", "").split(";")[0].split(": '")[0]
