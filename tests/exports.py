"""Tables as programs really export them: the header, and columns of made-up values that behave like the real ones.

An export is written as `name=kind | name=kind | ...`; the kinds are functions below. Two columns of one kind draw from
the same ids, as sender and receiver do; `kind#2` draws from others.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import random
from dataclasses import dataclass

START = dt.datetime(2024, 1, 3, 9, 0, 0)
FIRST = "anna ben carla david emma felix greta hugo ida jonas klara leon mia noah olga paul rosa sam tina uwe".split()
LAST = "Meyer Smith Garcia Dubois Rossi Novak Lopez Klein Moreau Weber".split()
WORDS = "please refund the order late again thanks for your help with this invoice and call me back soon today".split()


@dataclass(frozen=True)
class Export:
    """One table, and what is right: the columns of src, dst, time and weight (None: there is none to be taken)."""

    name: str
    columns: str
    src: str
    dst: str
    time: str
    weight: str | None = None
    delimiter: str = ","
    header: bool = True

    def names(self) -> list[str]:
        return [column.split("=")[0].strip() for column in self.columns.split("|")]

    def rows(self, count: int = 80) -> list[list[str]]:
        rng = random.Random(self.name)
        days = sorted(rng.uniform(0, 300) for _ in range(count))
        moments = [START + dt.timedelta(days=day) for day in days]
        kinds = [column.split("=")[1].strip() for column in self.columns.split("|")]
        made: dict[str, list[str]] = {}
        for name, kind in zip(self.names(), kinds, strict=True):
            same = made.get(kind.removeprefix("same as "))  # the same people, by a number of theirs
            made[name] = (
                cells(kind, moments, rng) if same is None else [str(int(digest("", cell)[:7], 16)) for cell in same]
            )
        return [list(row) for row in zip(*made.values(), strict=True)]

    def text(self, count: int = 80) -> str:
        lines = [self.delimiter.join(self.names())] if self.header else []
        lines += [self.delimiter.join(quoted(cell, self.delimiter) for cell in row) for row in self.rows(count)]
        return "\n".join(lines) + "\n"


def quoted(cell: str, delimiter: str) -> str:
    return f'"{cell}"' if delimiter in cell else cell


def digest(salt: str, number: object) -> str:
    return hashlib.sha256(f"{salt} {number}".encode()).hexdigest()


# -- ids of some who come again and again ------------------------------------------------------------------------------

POOLS = {
    "int": lambda n, salt: str(n + 1 if not salt else 1000 * len(salt) + n),
    "key": lambda n, salt: str(400_000 + 137 * n + sum(map(ord, salt))),
    "acct": lambda n, salt: f"ACC-{salt}{n:05d}",
    "iban": lambda n, salt: f"DE{89 - len(salt)}3704004405320{n:05d}",
    "person": lambda n, salt: f"{FIRST[n % 20].title()} {LAST[(n // 20 + 3 * len(salt)) % 10]}{salt}",
    "login": lambda n, salt: f"{FIRST[n % 20]}{n}{salt}",
    "mail": lambda n, salt: f"{FIRST[n % 20]}.{LAST[n % 10].lower()}{n}@example{salt}.org",
    "phone": lambda n, salt: f"49151{23456000 + 71 * n + len(salt)}",
    "addr": lambda n, salt: "0x" + digest("address" + salt, n)[:40],
    "slack": lambda n, salt: f"U{digest('slack' + salt, n)[:9].upper()}",
    "uid": lambda n, salt: digest("uid" + salt, n)[:24],
    "ip": lambda n, salt: f"10.{len(salt)}.{n // 8}.{n % 8 + 1}",
    "staff": lambda n, salt: f"agent.{FIRST[(n * 7) % 20]}{salt}",
    "sku": lambda n, salt: f"SKU{salt}-{n:04d}",
    "page": lambda n, salt: f"/blog/{WORDS[n % 19]}-{n}",
    "title": lambda n, salt: f"{WORDS[n % 19].title()} {WORDS[(n * 5) % 19]} {n}",
    "repo": lambda n, salt: f"{FIRST[n % 20]}/{WORDS[n % 19]}",
    "shop": lambda n, salt: f"{LAST[n % 10]} {'Market' if n % 2 else 'Store'} {n}",
    "room": lambda n, salt: f"C{digest('room', n)[:8].upper()}",
    "sap": lambda n, salt: f"{1_000_000 + n + 5000 * len(salt):010d}",
    "small": lambda n, salt: str(n % 9 + 1),
}
SIZES = {"staff": 7, "room": 6, "shop": 12, "small": 9, "repo": 14}


def cells(kind: str, moments: list[dt.datetime], rng: random.Random) -> list[str]:
    """Make the cells of one column."""
    kind, _, salt = kind.partition("#")
    kind, _, argument = kind.partition(":")
    count = len(moments)
    if kind in POOLS:
        size = SIZES.get(kind, 30)
        return [POOLS[kind](min(int(rng.expovariate(4 / size)), size - 1), salt) for _ in range(count)]
    if kind in UNIQUE:
        return [UNIQUE[kind](row) for row in range(count)]
    if kind in TIMES:
        late = [moment + dt.timedelta(hours=rng.uniform(1, 90)) for moment in moments] if salt else moments
        return [TIMES[kind](moment) for moment in late]
    if kind == "of":
        return [rng.choice(argument.split("/")) for _ in range(count)]
    return [VALUES[kind](rng) for _ in range(count)]


# -- cells that are different in every row -----------------------------------------------------------------------------

UNIQUE = {
    "row": lambda row: str(1001 + row),
    "rownumber": str,
    "hash": lambda row: "0x" + digest("tx", row),
    "uuid": lambda row: "-".join((digest("u", row)[:8], digest("v", row)[:4], digest("w", row)[:4])),
    "code": lambda row: f"pi_{digest('code', row)[:16]}",
    "ticket": lambda row: f"TCK-{5000 + row}",
    "mailid": lambda row: f"<{digest('mail', row)[:12]}@mail.example.org>",
    "issue": lambda row: f"PROJ-{row + 1}",
}


# -- times -------------------------------------------------------------------------------------------------------------


def twelve_hours(moment: dt.datetime) -> str:
    return f"{moment.month}/{moment.day}/{moment.year} {moment.hour % 12 or 12}:{moment:%M} {moment:%p}"


TIMES = {
    "iso": lambda t: f"{t:%Y-%m-%d %H:%M:%S}",
    "isoz": lambda t: f"{t:%Y-%m-%dT%H:%M:%SZ}",
    "zone": lambda t: f"{t:%Y-%m-%dT%H:%M:%S}+02:00",
    "utc": lambda t: f"{t:%Y-%m-%d %H:%M:%S} UTC",
    "date": lambda t: f"{t:%Y-%m-%d}",
    "dmy": lambda t: f"{t:%d.%m.%Y %H:%M}",
    "day": lambda t: f"{t:%d.%m.%Y}",
    "slash": lambda t: f"{t:%d/%m/%Y %H:%M}",
    "us12": twelve_hours,
    "unix": lambda t: str(int((t - dt.datetime(1970, 1, 1)).total_seconds())),
    "unixms": lambda t: str(int((t - dt.datetime(1970, 1, 1)).total_seconds() * 1000)),
    "slackts": lambda t: f"{(t - dt.datetime(1970, 1, 1)).total_seconds():.6f}",
    "log": lambda t: f"{t:%d/%b/%Y:%H:%M:%S} +0000",
    "mailed": lambda t: f"{t:%a, %d %b %Y %H:%M:%S} +0100",
    "step": lambda t: str(int((t - START).total_seconds()) // 60),
}

# -- what is neither an end nor a time ---------------------------------------------------------------------------------

VALUES = {
    "money": lambda rng: f"{rng.uniform(1, 900):.2f}",
    "euro": lambda rng: f"{rng.uniform(1, 900):.2f}".replace(".", ","),
    "cents": lambda rng: str(rng.randint(100, 90_000)),
    "wei": lambda rng: str(rng.randint(10**15, 10**19)),
    "count": lambda rng: str(rng.randint(0, 40)),
    "size": lambda rng: str(rng.randint(120, 65_000)),
    "rate": lambda rng: str(rng.randint(1, 5)),
    "stars": lambda rng: f"{rng.randint(1, 10) / 2}",
    "sign": lambda rng: str(rng.choice([-1, 1])),
    "text": lambda rng: " ".join(rng.choice(WORDS) for _ in range(rng.randint(5, 14))),
    "subject": lambda rng: " ".join(rng.choice(WORDS) for _ in range(rng.randint(2, 5))),
    "zip": lambda rng: f"{rng.randint(1, 60) * 1601 % 99999:05d}",
    "block": lambda rng: str(rng.randint(19_000_000, 19_000_900)),
    "real": lambda rng: f"{rng.gauss(0, 1):.5f}",
    "agentstring": lambda rng: f"Mozilla/5.0 (X11) Version/{rng.randint(90, 99)}",
    "empty": lambda rng: "",
    "earlier": lambda rng: str(1001 + int(rng.random() ** 2 * 40)),
    "maybe": lambda rng: rng.choice(["", "", "x"]),
}

EXPORTS = [
    Export(
        "message broker",
        "offset=row | producer_service=login | consumer_service=login | event_time=isoz",
        *("producer_service", "consumer_service", "event_time"),
    ),
    Export(
        "loans",
        "loan_id=row | lender=person | borrower=person | issued=date | principal=money",
        *("lender", "borrower", "issued"),
    ),
    # bank and payments
    Export(
        "payments",
        "payment_id=row | sender_account=acct | receiver_account=acct | amount=money | currency=of:EUR/USD | "
        "booked_at=isoz | memo=text",
        *("sender_account", "receiver_account", "booked_at", "amount"),
    ),
    Export(
        "transfers",
        "transaction_id=row | account_from=key | account_to=key | amount=money | timestamp=unix",
        *("account_from", "account_to", "timestamp", "amount"),
    ),
    Export(
        "Stripe",
        "id=code | Created date (UTC)=iso | Amount=money | Currency=of:usd/eur | Status=of:Paid/Refunded | "
        "Customer ID=uid | "
        "Merchant=shop | Card Last4=zip | Description=text",
        *("Customer ID", "Merchant", "Created date (UTC)", "Amount"),
    ),
    Export(
        "German bank",
        "Buchungstag=day | Valutadatum=day#2 | Auftraggeber=person | Empfänger=person | Verwendungszweck=text | "
        "Betrag=euro | Währung=of:EUR/CHF",
        *("Auftraggeber", "Empfänger", "Buchungstag", "Betrag"),
        delimiter=";",
    ),
    Export(
        "German transfers",
        "Datum=dmy | Absender=login | Empfänger=login | Betrag=euro",
        *("Absender", "Empfänger", "Datum", "Betrag"),
        delimiter=";",
    ),
    Export(
        "French bank",
        "Date opération=slash | Donneur d'ordre=person | Bénéficiaire=person | Montant=euro | "
        "Devise=of:EUR/USD | Libellé=text",
        *("Donneur d'ordre", "Bénéficiaire", "Date opération", "Montant"),
        delimiter=";",
    ),
    Export(
        "Spanish bank",
        "Fecha=slash | Ordenante=person | Beneficiario=person | Importe=euro | Concepto=text",
        *("Ordenante", "Beneficiario", "Fecha", "Importe"),
        delimiter=";",
    ),
    Export(
        "cards",
        "trans_num=uuid | trans_date_trans_time=iso | cc_num=key | merchant=shop | "
        "category=of:food/gas/travel | amt=money | zip=zip | "
        "is_fraud=of:0/1",
        *("cc_num", "merchant", "trans_date_trans_time", "amt"),
    ),
    Export(
        "PaySim",
        "step=step | type=of:PAYMENT/TRANSFER | amount=money | nameOrig=acct | oldbalanceOrg=money | "
        "nameDest=acct#m | isFraud=of:0/1",
        *("nameOrig", "nameDest", "step", "amount"),
    ),
    Export(
        "peer to peer",
        "txnId=uuid | payerId=uid | payeeId=uid | amountUsd=money | createdAt=isoz | updatedAt=isoz#2",
        *("payerId", "payeeId", "createdAt", "amountUsd"),
    ),
    # chains
    Export(
        "BigQuery Ethereum",
        "hash=hash | nonce=count | from_address=addr | to_address=addr | value=wei | gas=size | "
        "block_timestamp=utc | block_number=block",
        *("from_address", "to_address", "block_timestamp", "value"),
    ),
    Export(
        "token transfers",
        "token_address=addr#t | from_address=addr | to_address=addr | value=wei | transaction_hash=hash | "
        "log_index=count | "
        "block_timestamp=utc",
        *("from_address", "to_address", "block_timestamp", "value"),
    ),
    Export(
        "Etherscan",
        "Txhash=hash | Blockno=block | UnixTimestamp=unix | DateTime (UTC)=iso | From=addr | To=addr | "
        "Value_IN(ETH)=money | Status=of:ok/err",
        *("From", "To", "DateTime (UTC)", "Value_IN(ETH)"),
    ),
    Export(
        "wallets",
        "tx_hash=hash | sender_wallet=addr | recipient_wallet=addr | block_time=isoz | fee=money",
        *("sender_wallet", "recipient_wallet", "block_time"),
    ),
    # chat and mail
    Export(
        "messages",
        "id=row | created_at=iso | from_user_id=int | to_user_id=int | message_length=size | subject=subject",
        *("from_user_id", "to_user_id", "created_at"),
    ),
    Export(
        "Slack",
        "ts=slackts | user=slack | channel=room | type=of:message/file | text=text | reply_count=count",
        *("user", "channel", "ts"),
    ),
    Export(
        "Discord",
        "MessageID=row | Author=login | AuthorID=same as Author | Date=zone | Content=text | ChannelID=key#c",
        *("Author", "ChannelID", "Date"),
    ),
    Export(
        "Telegram",
        "message_id=row | date=isoz | sender_name=person | sender_id=same as sender_name | chat_id=key#c | text=text",
        *("sender_name", "chat_id", "date"),
    ),
    Export(
        "Outlook",
        "Subject=subject | From: (Name)=person | From: (Address)=same as From: (Name) | To: (Name)=person | "
        "To: (Address)=same as To: (Name) | Received=us12 | "
        "Importance=of:Normal/High | Size=size",
        *("From: (Name)", "To: (Name)", "Received"),
    ),
    Export(
        "mail log",
        "message_id=mailid | date=isoz | from=mail | to=mail | size=size | subject=subject",
        *("from", "to", "date"),
    ),
    Export(
        "Enron",
        "Message-ID=mailid | Date=mailed | From=mail | To=mail | Subject=subject",
        *("From", "To", "Date"),
    ),
    Export(
        "direct messages",
        "conversation=uid | sender=login | recipient=login | sent_at=isoz | read_at=isoz#2 | body=text",
        *("sender", "recipient", "sent_at"),
    ),
    # phone
    Export("calls", "Date=iso | Caller ID=phone | Callee ID=phone | Duration=count", "Caller ID", "Callee ID", "Date"),
    Export(
        "call records",
        "call_id=row | calling_number=phone | called_number=phone | start_time=iso | end_time=iso#2 | "
        "duration_s=size | cell=small",
        *("calling_number", "called_number", "start_time"),
    ),
    Export(
        "German calls",
        "Anrufer=phone | Angerufener=phone | Beginn=dmy | Dauer=count",
        *("Anrufer", "Angerufener", "Beginn"),
        delimiter=";",
    ),
    # tickets and customers
    Export(
        "tickets",
        "ticket=row | opened=iso | customer=login | agent=staff | priority=of:low/normal/high | "
        "channel=of:mail/phone/chat",
        *("customer", "agent", "opened"),
    ),
    Export(
        "Zendesk",
        "Id=row | Requester=person | Requester id=same as Requester | Assignee=staff | Status=of:open/solved | "
        "Created at=iso | Updated at=iso#2 | "
        "Subject=subject",
        *("Requester", "Assignee", "Created at"),
    ),
    Export(
        "Jira",
        "Issue key=issue | Issue id=row | Summary=subject | Status=of:Open/Done | Reporter=login | "
        "Assignee=login | Created=iso | "
        "Resolved=iso#2 | Story Points=small",
        *("Reporter", "Assignee", "Created"),
    ),
    Export(
        "ServiceNow",
        "number=ticket | caller_id=person | assigned_to=staff | priority=of:1/2/3 | opened_at=iso | "
        "closed_at=iso#2 | short_description=text",
        *("caller_id", "assigned_to", "opened_at"),
    ),
    Export(
        "German desk",
        "Ticketnummer=row | Kunde=person | Bearbeiter=staff | Erstellt am=dmy | Geschlossen am=dmy#2 | "
        "Status=of:offen/zu",
        *("Kunde", "Bearbeiter", "Erstellt am"),
        delimiter=";",
    ),
    Export(
        "French desk",
        "N° ticket=row | Client=person | Agent=staff | Créé le=slash | Fermé le=slash#2 | Priorité=of:basse/haute",
        *("Client", "Agent", "Créé le"),
        delimiter=";",
    ),
    Export(
        "Spanish desk",
        "Nº ticket=row | Cliente=person | Agente=staff | Fecha de creación=slash | Fecha de cierre=slash#2 | "
        "Estado=of:abierto/cerrado",
        *("Cliente", "Agente", "Fecha de creación"),
        delimiter=";",
    ),
    # shops
    Export(
        "Shopify",
        "Order=ticket | Email=mail | Created at=zone | Lineitem sku=sku | Lineitem quantity=rate | "
        "Lineitem price=money | Shipping Zip=zip",
        *("Email", "Lineitem sku", "Created at"),
    ),
    Export(
        "online retail",
        "InvoiceNo=key | StockCode=sku | Description=subject | Quantity=count | InvoiceDate=us12 | "
        "UnitPrice=money | CustomerID=int | "
        "Country=of:UK/France/Germany",
        *("CustomerID", "StockCode", "InvoiceDate"),
    ),
    Export(
        "shop log",
        "event_time=utc | event_type=of:view/cart/purchase | product_id=key#p | category_id=small | "
        "brand=of:a/b/c | price=money | user_id=key",
        *("user_id", "product_id", "event_time"),
    ),
    Export(
        "German shop",
        "Bestellnummer=row | Bestelldatum=day | Kundennummer=sap | Artikelnummer=sku | Menge=rate | Preis=euro",
        *("Kundennummer", "Artikelnummer", "Bestelldatum"),
        delimiter=";",
    ),
    Export(
        "French shop",
        "commande=row | date_commande=date | acheteur=login | article=sku | quantité=rate | prix=euro",
        *("acheteur", "article", "date_commande"),
        delimiter=";",
    ),
    Export(
        "Spanish shop",
        "pedido=row | fecha_pedido=date | comprador=login | producto=sku | cantidad=rate | precio=euro",
        *("comprador", "producto", "fecha_pedido"),
        delimiter=";",
    ),
    Export(
        "MovieLens",
        "userId=int | movieId=key#m | rating=stars | timestamp=unix",
        "userId",
        "movieId",
        "timestamp",
        "rating",
    ),
    Export(
        "Amazon reviews",
        "reviewerID=uid | asin=sku | overall=rate | unixReviewTime=unix | summary=subject",
        *("reviewerID", "asin", "unixReviewTime"),
    ),
    Export(
        "Yelp",
        "review_id=uuid | user_id=uid | business_id=uid#b | stars=rate | date=iso | text=text",
        *("user_id", "business_id", "date", "stars"),
    ),
    Export(
        "listening",
        "userid=login | timestamp=isoz | artist-name=title | traname=subject",
        *("userid", "artist-name", "timestamp"),
        delimiter="\t",
    ),
    # forums and the web
    Export(
        "forum",
        "post_id=row | user_name=login | parent_user_name=login | posted_on=iso | score=count",
        *("user_name", "parent_user_name", "posted_on", "score"),
    ),
    Export(
        "Reddit links",
        "SOURCE_SUBREDDIT=title | TARGET_SUBREDDIT=title | POST_ID=uuid | TIMESTAMP=iso | LINK_SENTIMENT=sign | "
        "PROPERTIES=text",
        *("SOURCE_SUBREDDIT", "TARGET_SUBREDDIT", "TIMESTAMP", "LINK_SENTIMENT"),
        delimiter="\t",
    ),
    Export(
        "Reddit comments",
        "id=uuid | author=login | subreddit=room | created_utc=unix | score=count | body=text",
        *("author", "subreddit", "created_utc", "score"),
    ),
    Export(
        "tweets",
        "tweet_id=row | author_id=key | in_reply_to_user_id=key | created_at=isoz | retweet_count=count | text=text",
        *("author_id", "in_reply_to_user_id", "created_at"),
    ),
    Export("follows", "follower_id=int | followee_id=int | created_at=iso", "follower_id", "followee_id", "created_at"),
    Export(
        "GitHub events",
        "id=row | type=of:PushEvent/WatchEvent | actor.login=login | repo.name=repo | created_at=isoz | "
        "public=of:true/false",
        *("actor.login", "repo.name", "created_at"),
    ),
    Export(
        "wiki edits",
        "rev_id=row | user_text=login | page_title=title | rev_timestamp=isoz | rev_len=size | comment=text",
        *("user_text", "page_title", "rev_timestamp"),
    ),
    Export(
        "web log",
        "remote_host=ip | time=log | method=of:GET/POST | request_path=page | status=of:200/404/500 | "
        "bytes=size | user_agent=agentstring",
        *("remote_host", "request_path", "time"),
    ),
    Export(
        "firewall",
        "StartTime=iso | Dur=real | Proto=of:tcp/udp | SrcAddr=ip | Sport=size | DstAddr=ip | "
        "Dport=of:80/443/22 | TotBytes=size",
        *("SrcAddr", "DstAddr", "StartTime"),
    ),
    Export(
        "NetFlow",
        "ts=unix | src_ip=ip | src_port=size | dst_ip=ip | dst_port=of:80/443/53 | bytes=size | packets=count",
        *("src_ip", "dst_ip", "ts"),
    ),
    Export(
        "logons",
        "id=uuid | date=us12 | user=login | pc=ip#pc | activity=of:Logon/Logoff",
        *("user", "pc", "date"),
    ),
    # work, health, trips
    Export(
        "process handover",
        "case_id=int | handed_over_by=staff | handed_over_to=staff | timestamp=iso | activity=of:check/pay/close",
        *("handed_over_by", "handed_over_to", "timestamp"),
    ),
    Export(
        "SAP orders",
        "EBELN=row | Besteller=login | Lieferant=sap#l | Belegdatum=day | Nettowert=euro",
        *("Besteller", "Lieferant", "Belegdatum"),
        delimiter=";",
    ),
    Export(
        "visits",
        "visit_id=row | patient_id=key | doctor_id=small#d | ward=of:A/B/C | admitted_at=iso | discharged_at=iso#2",
        *("patient_id", "doctor_id", "admitted_at"),
    ),
    Export(
        "bikes",
        "ride_id=uuid | rideable_type=of:classic/electric | started_at=iso | ended_at=iso#2 | "
        "start_station_id=int | end_station_id=int | "
        "start_lat=real | start_lng=real",
        *("start_station_id", "end_station_id", "started_at"),
    ),
    Export(
        "flights",
        "FlightDate=date | Reporting_Airline=of:AA/DL/UA | Origin=room | Dest=room | DepDelay=count | Distance=size",
        *("Origin", "Dest", "FlightDate"),
    ),
    Export(
        "contacts",
        "timestamp=step | person_a=int | person_b=int | rssi=count",
        *("person_a", "person_b", "timestamp"),
    ),
    Export("citations", "citing=uid | cited=uid | date=date", "citing", "cited", "date"),
    Export(
        "French mail",
        "Expéditeur=mail | Destinataire=mail | Envoyé le=slash | Objet=subject",
        "Expéditeur",
        "Destinataire",
        "Envoyé le",
    ),
    Export("Spanish mail", "De=mail | Para=mail | Enviado=slash | Asunto=subject", "De", "Para", "Enviado"),
    Export(
        "German mail", "Von=mail | An=mail | Gesendet=dmy | Betreff=subject", "Von", "An", "Gesendet", delimiter="\t"
    ),
    # SNAP and the like, without a header
    Export("SNAP", "0=int | 1=int | 2=unix", "0", "1", "2", delimiter=" ", header=False),
    Export("signed", "0=int | 1=int | 2=sign | 3=unix", "0", "1", "3", "2", header=False),
    Export("numbered rows", "0=rownumber | 1=login | 2=login | 3=unix", "1", "2", "3", delimiter="\t", header=False),
    Export("time first", "0=unix | 1=int | 2=int", "1", "2", "0", delimiter=" ", header=False),
    Export("KONECT", "0=int | 1=int | 2=of:1 | 3=unix", "0", "1", "3", "2", delimiter=" ", header=False),
    Export("index column", "=rownumber | u=int | i=key#i | ts=unix | label=of:0/1 | idx=rownumber", "u", "i", "ts"),
]

# What nobody could know: the header and the values leave more than one reading. To ask is right here.
UNCLEAR = [
    Export(
        "reviews of code",
        "number=row | title=subject | author=login | reviewer=login | state=of:open/merged | createdAt=isoz | "
        "mergedAt=isoz#2",
        *("author", "reviewer", "createdAt"),
    ),
    Export(
        "sales",
        "Activity ID=row | Sales Rep=staff | Contact=person | Company=shop | Activity Date=date | "
        "Outcome=of:won/lost/open",
        *("Sales Rep", "Contact", "Activity Date"),
    ),
    Export(
        "process mining",
        "case_id=int | activity=of:check/pay/close/reopen/archive | timestamp=iso | resource=staff | cost=money",
        *("case_id", "resource", "timestamp"),
    ),
    Export(
        "posts and parents",
        "post_id=row | author=login | parent_post_id=earlier | created=iso | body=text",
        *("author", "parent_post_id", "created"),
    ),
    Export("two dates", "sender=login | receiver=login | date_1=iso | date_2=iso#2", "sender", "receiver", "date_1"),
    Export(
        "no ends",
        "ticket=row | status=of:open/closed/new | priority=of:low/high/mid | opened=iso",
        "status",
        "priority",
        "opened",
    ),
    Export("three unknown", "foo=login | bar=login#b | baz=login#c | when=iso", "foo", "bar", "when"),
]
