"""Further tables, written after the rules that find columns: what they were not made for."""

from __future__ import annotations

from exports import Export

EXPORTS = [
    Export(
        "Venmo",
        "ID=row | Datetime=isoz | Type=of:Payment/Charge | Status=of:Complete/Pending | Note=subject | "
        "From=person | To=person | "
        "Amount (total)=money | Funding Source=of:Bank/Balance",
        *("From", "To", "Datetime", "Amount (total)"),
    ),
    Export(
        "PayPal",
        "Date=date | Name=person | Type=of:Payment/Refund | Status=of:Completed/Held | Currency=of:EUR/USD | "
        "Gross=money | Fee=money | "
        "From Email Address=mail | To Email Address=mail | Transaction ID=code",
        *("From Email Address", "To Email Address", "Date"),
    ),
    Export(
        "HubSpot",
        "Record ID=row | Email subject=subject | Email from address=mail | Email to address=mail | "
        "Activity date=iso | "
        "Create date=iso#2 | Activity assigned to=staff",
        *("Email from address", "Email to address", "Activity date"),
    ),
    Export(
        "Intercom",
        "conversation_id=row | created_at=isoz | contact_email=mail | teammate=staff | "
        "first_response_time=count | rating=rate",
        *("contact_email", "teammate", "created_at", "rating"),
    ),
    Export(
        "Mastodon",
        "status_id=row | account=login | in_reply_to_account=login | created_at=isoz | favourites_count=count | "
        "language=of:de/en/fr",
        *("account", "in_reply_to_account", "created_at"),
    ),
    Export(
        "WhatsApp",
        "Datum=dmy | Name=person | Gruppe=room | Nachricht=text",
        *("Name", "Gruppe", "Datum"),
        delimiter=";",
    ),
    Export(
        "Steam",
        "steamid=key | appid=int#app | playtime_minutes=size | last_played=unix",
        *("steamid", "appid", "last_played"),
    ),
    Export(
        "Goodreads",
        "book_id=key#b | user_id=uid | is_read=of:0/1 | rating=rate | date_added=iso | date_updated=iso#2",
        *("user_id", "book_id", "date_added", "rating"),
    ),
    Export(
        "taxi",
        "VendorID=of:1/2 | tpep_pickup_datetime=iso | tpep_dropoff_datetime=iso#2 | passenger_count=rate | "
        "trip_distance=real | "
        "PULocationID=int | DOLocationID=int | total_amount=money",
        *("PULocationID", "DOLocationID", "tpep_pickup_datetime", "total_amount"),
    ),
    Export(
        "proxy log",
        "timestamp=unixms | client_ip=ip | host=page | bytes_out=size | http_status=of:200/403",
        *("client_ip", "host", "timestamp"),
    ),
    Export(
        "sysmon",
        "UtcTime=iso | Computer=ip#c | User=login | TargetServer=ip#t | LogonType=of:2/3/10",
        *("User", "TargetServer", "UtcTime"),
    ),
    Export(
        "library",
        "Ausleihnummer=row | Leser=sap | Mediennummer=sku | Ausleihdatum=day | Rückgabedatum=day#2",
        *("Leser", "Mediennummer", "Ausleihdatum"),
        delimiter=";",
    ),
    Export(
        "hospital transfers",
        "transfer_no=row | patient=key | from_ward=of:A1/B2/C3/D4/E5/F6/G7 | to_ward=of:A1/B2/C3/D4/E5/F6/G7 | "
        "moved_at=iso",
        *("from_ward", "to_ward", "moved_at"),
    ),
    Export(
        "trade",
        "year=of:2001/2002/2003/2004/2005/2006 | exporter=room | importer=room | trade_value_usd=money",
        *("exporter", "importer", "year", "trade_value_usd"),
    ),
    Export(
        "donations",
        "donation_id=uuid | donor_name=person | recipient_name=shop | amount=money | donation_date=date | zip_code=zip",
        *("donor_name", "recipient_name", "donation_date", "amount"),
    ),
    Export(
        "French calls",
        "Numéro appelant=phone | Numéro appelé=phone | Date et heure=slash | Durée=count",
        *("Numéro appelant", "Numéro appelé", "Date et heure"),
        delimiter=";",
    ),
    Export(
        "Spanish transfers",
        "id_transferencia=row | cuenta_origen=iban | cuenta_destino=iban | monto=money | fecha_hora=iso",
        *("cuenta_origen", "cuenta_destino", "fecha_hora"),
    ),
    Export(
        "dating",
        "liker_id=key | liked_id=key | liked_at=isoz | super_like=of:0/1",
        *("liker_id", "liked_id", "liked_at"),
    ),
    Export(
        "git commits",
        "commit=hash | author_email=mail | file_path=page | authored_date=zone | committed_date=zone#2 | "
        "insertions=count",
        *("author_email", "file_path", "authored_date"),
    ),
    Export(
        "sensors",
        "t=unix | i=int | j=int | Ci=of:A/B/C | Cj=of:A/B/C",
        *("i", "j", "t"),
        delimiter="\t",
    ),
]
