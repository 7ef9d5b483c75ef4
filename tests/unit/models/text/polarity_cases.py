"""Clauses of contracts, calls and tickets, with a part in brackets and whether it is negated."""

GOVERNING_LAW = [
    (
        "[This Agreement shall be governed by and construed in accordance with the laws of the State of Oregon, without"
        " regard to its conflict of laws principles].",
        False,
    ),
    (
        "[The validity and interpretation of this Lease are governed by Irish law without giving effect to any choice"
        " of law rule that would lead to the law of another state].",
        False,
    ),
    ("This Deed is governed by the laws of Kenya, without regard to [conflict of law principles].", True),
    ("Without regard to conflict of law rules, [this Licence is governed by the laws of Ohio].", False),
    ("[Without reference to principles of conflicts of law, the laws of Texas shall govern].", False),
    (
        "[The law of Norway governs this Charter, and not the law of any other country in which a party may reside].",
        False,
    ),
    ("The 1980 UN Convention on the sale of goods [shall not apply to this Agreement].", True),
    (
        "[This Agreement is governed by Swiss law and shall not be governed by the United Nations Convention on the"
        " sale of goods].",
        False,
    ),
    ("This Agreement is governed by Swiss law and shall not be [governed by the UN Convention].", True),
    ("[No provision of this Agreement shall be governed by the law of any state other than Maine].", True),
    (
        "[Any dispute that cannot be settled amicably shall be governed by the laws of Malta and heard by its courts].",
        False,
    ),
    ("Any dispute that cannot be settled amicably shall be [governed by the laws of Malta].", False),
    (
        "[The laws of India, to the extent not preempted by federal law, shall govern all claims under this Policy].",
        False,
    ),
    ("[The Supplier, however, does not agree that the laws of Peru govern this Order].", True),
    ("[This Agreement, which may not be assigned, shall be construed under the laws of Victoria].", False),
]
CALLS_AND_TICKETS = [
    ("Yeah, [I didn't get the refund you promised] and I want it today.", True),
    ("Yeah, I didn't get the refund and [I want it today].", False),
    ("No, [I did get the refund], thanks.", False),
    ("No no, [it wasn't the driver], it was the depot.", True),
    ("[I can see my bill in the app without any trouble].", False),
    ("I hung up without [leaving a message].", True),
    ("[The engineer never turned up], so I called again.", True),
    ("If you don't pay by Friday, [we will close the account].", False),
    ("[If you don't pay by Friday, we will close the account].", False),
    ("If you [don't pay by Friday], we will close the account.", True),
    ("[Nobody told me that the price would go up].", True),
    ("Nobody at the branch on the high street that I went to last week [told me about the fee].", True),
    ("[Customers who do not return the router will be charged].", False),
    ("Customers who do not return the router [will be charged].", False),
    ("I have [no idea how to reset it].", True),
    ("There's no doubt [the parcel was delivered].", False),
    ("Not only [was the parcel late], it was broken.", False),
    ("[You must give notice no later than 30 days before it ends].", False),
    ("[I'd like to cancel, not to upgrade].", False),
    ("Please don't hesitate to [call me back].", False),
    ("[Upload fails with no error message in the log].", False),
    ("[The page does not load on Firefox], it is fine on Chrome.", True),
    ("The page does not load on Firefox but [it is fine on Chrome].", False),
    ("[Setting the flag has no effect].", True),
    ("I don't know whether [the backup finished].", False),
    ("[The job is failing to start since the upgrade].", True),
    ("[The fix never fails to apply].", False),
    ("It crashes because [the config isn't read].", True),
    ("[It crashes because the config isn't read].", False),
    ("[Build 0.2 will not run on my machine].", True),
    ("[Startup error: no rule for the browser].", True),
    ("[Clicking a link while holding the key does not open it].", True),
    ("Restarting the service [is not needed any more].", True),
]
