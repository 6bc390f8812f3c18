"""What the jury adds to Parley's tables. Every name begins with `x_`, the package's name and `_`."""

from parley.schemas.packages import ChannelRow, PackageRows, StopRow

JUROR, ROOM = "x_parley_jury_juror", "x_parley_jury_room"
VERDICT, HUNG = "x_parley_jury_verdict", "x_parley_jury_hung"
PATIENCE = "x_parley_jury_patience"

ROWS = PackageRows(
    roles=(JUROR,),
    channels=(ChannelRow(name=ROOM, readers=(JUROR,), writers=(JUROR,)),),
    stops=(
        StopRow(
            reason=VERDICT, converged=True, status="finished", exit_code=0, words="the jury is of one mind",
            unless="all votes are the same, but too few jurors voted",
        ),
        StopRow(reason=HUNG, converged=False, status="finished", exit_code=3, words="the jury is hung"),
        StopRow(reason=PATIENCE, converged=False, status="finished", exit_code=3, words="two rounds are enough"),
    ),
)  # fmt: skip
