"""Words and phrases that the rules exchange, written by hand; WordNet adds to them.

A row holds words of one kind. Verbs and nouns are in their basic form and keep the
form of the word that they replace.
"""

from collections.abc import Iterator
from typing import Final

from research.training.changes.word_lists import word_set
from research.training.changes.wordnet import Part


def _rows(rows: str) -> Iterator[list[str]]:
    yield from (row.split() for row in rows.strip().splitlines())


def _pairs(rows: str) -> dict[str, str]:
    """Both directions of pairs, several in a row as ``a/b c/d``."""
    pairs = [(a, b) for a, _, b in (pair.partition("/") for pair in rows.split())]
    return dict(pairs) | {b: a for a, b in pairs}


def _phrase_pairs(rows: str) -> dict[str, str]:
    """Pairs of phrases, written with ``_`` for a blank."""
    return {a.replace("_", " "): b.replace("_", " ") for a, b in _pairs(rows).items()}


def _groups(rows: str) -> dict[str, list[str]]:
    """The other words of a word's rows."""
    groups: dict[str, list[str]] = {}
    for row in _rows(rows):
        for word in row:
            groups.setdefault(word, []).extend(other for other in row if other != word)
    return groups


OPPOSITES: Final[dict[Part, dict[str, str]]] = {
    "v": _pairs("""
increase/decrease include/exclude accept/reject approve/decline open/close enable/disable win/lose arrive/depart
buy/sell
start/stop allow/forbid import/export upload/download add/remove lock/unlock install/uninstall agree/disagree
like/dislike
rise/fall succeed/fail raise/lower connect/disconnect show/hide load/unload expand/collapse encrypt/decrypt
attach/detach
subscribe/unsubscribe activate/deactivate block/unblock strengthen/weaken love/hate remember/forget gain/forfeit
push/pull
expand/shrink improve/worsen permit/prohibit compress/decompress deposit/withdraw lend/borrow grow/shrink"""),
    "n": _pairs("""
buyer/seller landlord/tenant lender/borrower employer/employee increase/decrease success/failure maximum/minimum
import/export upload/download arrival/departure advantage/disadvantage beginning/end north/south east/west
sender/recipient
licensor/licensee supplier/customer winner/loser profit/loss creditor/debtor majority/minority entrance/exit"""),
    "a": _pairs("""
first/last early/late cheap/expensive high/low public/private young/old good/bad correct/incorrect valid/invalid
fast/slow
happy/unhappy possible/impossible able/unable visible/hidden true/false optional/mandatory short/long
permanent/temporary full/empty hot/cold near/far large/small big/small internal/external inbound/outbound
available/unavailable
eligible/ineligible lawful/unlawful complete/incomplete direct/indirect easy/difficult broad/narrow strong/weak
safe/unsafe
domestic/international northern/southern eastern/western written/oral upper/lower right/wrong new/old male/female
online/offline necessary/unnecessary compatible/incompatible senior/junior wide/narrow light/heavy clean/dirty"""),
    "r": _pairs(
        "up/down upstairs/downstairs quickly/slowly often/rarely early/late inside/outside correctly/incorrectly "
        "successfully/unsuccessfully automatically/manually online/offline always/rarely best/worst better/worse"
    ),
}
EXCHANGED: Final = _phrase_pairs(
    "before/after above/below more_than/less_than at_least/at_most no_more_than/no_less_than northeast/southwest "
    "morning/evening earlier_than/later_than greater_than/smaller_than"
)
ACTIONS: Final = _groups("""
cancel change confirm track
renew upgrade downgrade transfer
delete rename copy archive
pay dispute
call visit email
sign review amend reject
create edit
rent sell repair paint
watch record
write read translate
order return exchange
approve postpone discuss
publish withdraw revise
install test
buy borrow
build demolish restore
suspend extend
hire dismiss promote
collect store disclose
replace clean
reset display
launch close
direct edit
found lead
find book rate
play stop
join leave
support oppose
attend skip
design build
publish edit
perform record
rescue injure
cook eat
wash iron
drive park
fix report
update delete export
add edit
provide request
use test
study teach
throw catch
check change
transfer request
search download
choose refuse
request decline
mention omit
answer ignore
acquire lease
reserve recommend
produce import
discover destroy
define quote
observe simulate
praise criticise
enter leave
wear sell
""")
OBJECTS: Final = _groups("""
order subscription policy appointment reservation membership
invoice refund receipt deposit
password username email
flight train bus ferry
hotel restaurant apartment museum
movie concert play game
address name birthday
laptop phone printer tablet router
button menu link icon checkbox
file folder page table image
house garage garden boat
car bike truck motorcycle
doctor dentist lawyer plumber
table room seat
breakfast lunch dinner
coffee tea beer juice
song album book film
database server browser
river lake mountain forest
school hospital church library factory
album novel painting poem
father mother brother sister uncle
claim loan mortgage
bank airline insurer
ticket voucher
warning error
weather traffic
account profile
code password
agreement lease
server printer router
keyboard mouse monitor
report form letter
comment attachment
test build
plugin theme
cheese bacon
pizza burger salad
restaurant hotel
house flat
bedroom kitchen bathroom
window door roof
station airport
village city
novel film
band orchestra
museum cathedral
county province
president secretary
professor journalist
king bishop
battle election
species language
actor singer painter
footballer cyclist swimmer
building bridge
employee contractor visitor
parent student
luggage passport
seat meal
cable charger
bedroom balcony
gym pool
rain snow
insurance pension
discount bonus
salary address
customer supplier
author publisher
website newsletter
""")
# Words for which WordNet's first sense is seldom the one that is meant.
UNSURE: Final = word_set(
    "chair provide agree recommend "
    "other some same know let work come go well stay correct due interest bore odd even out free charge "
    "charged saved ordered unlike like refrain stand sit little common walk left local personal closing "
    "further unfortunately fortunately changed recorded never ever manage leave misbehave limited one "
    "person someone individual about but after before later group grouping mode manner scheme strategy "
    "district territory steps stairs reserves militia regime government us america creator lord minister "
    "integrity unity tune baby granted given okay state say oblige marketing selling prompt leaving sunny "
    "simulate suppress cluster commission committee metropolis city dear constantly existence being rest "
    "percent afterwards afterward please here there all many few train card kind desire employ quit "
    "conceal process scare regain retrieve animal creature war noted printed print auto die promote "
    "encourage merge furnish particularly especially rather absolutely perfectly earnings theatre chief "
    "further lasting present move matter issue bit piece side end top side half past next back just still "
    "yet simply merely presently soon wise agreeable prohibit tilt suite john forest responsibility "
    "suited able unable hour minute year pound"
)
SYNONYMS: Final[dict[Part, dict[str, list[str]]]] = {
    "v": _groups("""
buy purchase
start begin
help assist
end finish
choose select
fix repair
need require
try attempt
display show
modify alter change
delete remove
cancel discontinue
occur happen
terminate end
verify check
notify inform
utilize use
build construct
close shut
disclose reveal
reply respond
"""),
    "n": _groups("""
movie film
car automobile
client customer
firm company
issue problem
doctor physician
lawyer attorney
reservation booking
photo picture
shop store
fee charge
salary pay
agreement contract
permission consent
duty obligation
start beginning
purchase acquisition
pupil student
option choice
help assistance
job position
vacation holiday
bug defect
author writer
"""),
    "a": _groups("""
big large
quick fast rapid
cheap inexpensive
costly expensive
sick ill
entire whole
main principal
glad pleased
difficult hard
simple easy
huge enormous
annual yearly
famous well-known
correct right
incorrect wrong
necessary required
additional further extra
present current
prior previous
"""),
    "r": _groups("""
quickly rapidly
often frequently
rarely seldom
maybe perhaps
almost nearly
currently presently
approximately roughly
mainly mostly
usually normally
promptly quickly
"""),
}
REWORDED: Final = {
    a: b
    for row in """
in order to|to
due to|because of
as a result of|because of
prior to|before
subsequent to|after
in the event that|if
in the event of|in case of
a number of|several
is able to|can
are able to|can
at this time|now
right now|at the moment
per month|a month
per year|a year
per day|a day
every day|each day
as soon as possible|without delay
as well as|and also
i would like to|i'd love to
i want to|i would like to
i need to|i have to
i am looking for|i'm trying to find
i'm looking for|i am trying to find
can you|could you please
could you|can you please
would you like|do you want
thank you|thanks
such as|for example
in addition|additionally
with respect to|regarding
pursuant to|under
is located in|lies in
is located at|lies at
are located in|lie in
is known as|is called
was known as|was called
is required to|has to
are required to|have to
is not required to|does not have to
are not required to|do not have to
for the purpose of|for
set forth in|given in
in accordance with|in line with
on behalf of|in the name of
a lot of|lots of
let me know|tell me
i think|in my opinion
located in|situated in
provided that|on condition that
free of charge|at no cost
take place|happen
takes place|happens
took place|happened
makes it possible to|allows one to
makes sense|is reasonable
instead of|rather than
is responsible for|is in charge of
are responsible for|are in charge of
throws an exception|raises an exception
""".strip().splitlines()
    for a, b in [row.split("|")]
}
CONDITIONS: Final = tuple(
    """
if the manager agrees|unless you tell us otherwise|only after the payment has cleared|provided that both sides agree
only if it is confirmed in writing|unless someone objects|if there is enough time|only when the office is open
as long as nobody objects|unless the deadline has passed|if the price stays the same|only during the first month
only on working days|except on public holidays|if the first attempt fails|unless an error occurs
once the review is complete|if all goes well|unless something changes|only when asked to|only in an emergency
""".strip()
    .replace("\n", "|")
    .split("|")
)
OPENINGS: Final = tuple(
    """
So,|Well,|Just to let you know,|As far as I can see,|Um,|OK,|Right,|Hi,|Hello,|As I said,
For the record,|If you don't mind,
Honestly,|Actually,|To be clear,|Not sure this is the right place, but|If I may say so,|Only a short note:|Once more:
""".strip()
    .replace("\n", "|")
    .split("|")
)
CLOSINGS: Final = tuple(
    """
Thanks.|That is all for now.|I don't know if that helps.|Never mind the details.|Let me know if anything is unclear.
I have nothing to add.|Not that it matters much.|No rush.|We talked about this before.|Please see the notes below.
I must say it took a while.|All the other points stay as they are.|It may be of use to some.|Just so that you know.
Sorry if this was said before.|Everyone should know by now.|I did not write this myself.|That was the main point.
""".strip()
    .replace("\n", "|")
    .split("|")
)
